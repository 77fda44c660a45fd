"""The document that shows a View with `<mcp-app>` inside a front end which would show it at the page's own origin."""

from html import escape

from fanlight.browser import page


def relay_frame(view: str, token: str, src: str) -> str:
    """Return the HTML of a frame that shows a View with `<mcp-app>`, of a host that is served at `src`."""
    values = {"VIEW": view, "TOKEN": token, "SRC": src.rstrip("/")}
    html = page("relay-frame.html")
    for name, value in values.items():
        html = html.replace(f"{{{name}}}", escape(value))
    return html
