"""Pages that a server renders from Jinja templates, with buttons and forms that call it. `Apps.pages` uses this."""
