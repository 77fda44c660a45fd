"""Forms that a tool opens for the user: `Apps.form` registers them."""
