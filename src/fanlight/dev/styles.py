"""The style variables and fonts that `fanlight dev` gives to Views, as commercial hosts give theirs.

All variables of the standard (THM-01), in neutral values for light and dark. Their fonts are those of the system, so
nothing has to be fetched.
"""

from typing import Any, Final

_HUES: Final = {
    #           background             text                   border                 ring
    "primary": ("#ffffff, #1e1f23", "#1b1c1f, #eff0f2", "#c9cacf, #4a4d55", "#1f52bf, #90b2ff"),
    "secondary": ("#f5f5f3, #26282d", "#4f525a, #b6b9c1", "#dadad6, #36383e", "#5a5d64, #a6a9b1"),
    "tertiary": ("#ecece9, #2f3137", "#62656d, #9a9da6", "#e8e8e5, #2f3137", None),
    "inverse": ("#1b1c1f, #eff0f2", "#ffffff, #1b1c1f", "#1b1c1f, #eff0f2", "#ffffff, #1b1c1f"),
    "ghost": ("transparent, transparent", "#4f525a, #b6b9c1", "transparent, transparent", None),
    "info": ("#e8effc, #1b2a4a", "#1f4a9e, #a9c3ff", "#9db8ea, #3f5f9e", "#1f52bf, #90b2ff"),
    "danger": ("#fdecec, #40191b", "#a3262a, #ff9b97", "#e5a3a5, #8c3a3c", "#a3262a, #ff9b97"),
    "success": ("#e7f5ec, #16331f", "#1c6b37, #7fd69c", "#93cba7, #2f6b45", "#1c6b37, #7fd69c"),
    "warning": ("#fdf3e0, #3a2a0d", "#7a4b00, #f3c269", "#e0bd7f, #7d5a1c", "#8a5600, #f3c269"),
    "disabled": ("#efefed, #2a2c31", "#8d9097, #73767e", "#e2e2df, #34363c", None),
}
_KINDS: Final = ("background", "text", "border", "ring")
_TEXT: Final = {"xs": ("12px", "16px"), "sm": ("14px", "20px"), "md": ("16px", "24px"), "lg": ("18px", "28px")}
_HEADING: Final = {
    "xs": ("14px", "20px"),
    "sm": ("16px", "24px"),
    "md": ("18px", "24px"),
    "lg": ("20px", "28px"),
    "xl": ("24px", "32px"),
    "2xl": ("30px", "36px"),
    "3xl": ("36px", "44px"),
}


def _variables() -> dict[str, str]:
    colors = {
        f"--color-{kind}-{name}": f"light-dark({values})"
        for position, kind in enumerate(_KINDS)
        for name, row in _HUES.items()
        if (values := row[position]) is not None
    }
    sizes = {
        f"--font-{group}-{name}-{part}": value
        for group, table in (("text", _TEXT), ("heading", _HEADING))
        for name, pair in table.items()
        for part, value in zip(("size", "line-height"), pair, strict=True)
    }
    return {
        **colors,
        "--font-sans": "'Host Sans', system-ui, sans-serif",
        "--font-mono": "ui-monospace, 'SFMono-Regular', Menlo, Consolas, monospace",
        "--font-weight-normal": "400",
        "--font-weight-medium": "500",
        "--font-weight-semibold": "600",
        "--font-weight-bold": "700",
        **sizes,
        "--border-radius-xs": "4px",
        "--border-radius-sm": "6px",
        "--border-radius-md": "8px",
        "--border-radius-lg": "12px",
        "--border-radius-xl": "16px",
        "--border-radius-full": "9999px",
        "--border-width-regular": "1px",
        "--shadow-hairline": "0 0 0 1px rgb(0 0 0 / 8%)",
        "--shadow-sm": "0 1px 2px rgb(0 0 0 / 12%)",
        "--shadow-md": "0 4px 12px rgb(0 0 0 / 14%)",
        "--shadow-lg": "0 12px 32px rgb(0 0 0 / 18%)",
    }


VARIABLES: Final = _variables()
"""The neutral variables by name."""

# Different enough that one sees which variables a View uses.
_TINTED: Final = {
    "--color-background-primary": "light-dark(#fbf7ff, #1f1a26)",
    "--color-background-secondary": "light-dark(#f1e8fb, #2b2435)",
    "--color-text-primary": "light-dark(#2a1440, #f4ecff)",
    "--color-text-secondary": "light-dark(#67517f, #bba9d1)",
    "--color-border-primary": "light-dark(#d9c7ef, #4a3d5c)",
    "--color-ring-primary": "light-dark(#7a3fc4, #c39bff)",
    "--font-sans": "'Host Serif', Georgia, serif",
    "--border-radius-md": "14px",
    "--shadow-md": "0 4px 16px rgb(80 40 120 / 20%)",
}


def _font_faces(name: str, *families: str) -> str:
    """Return a font that uses the first of these families that the system has, with its own bold."""
    weights = {"100 500": "", "600 900": " Bold"}
    sources = {weight: ", ".join(f"local('{each}{suffix}')" for each in families) for weight, suffix in weights.items()}
    return " ".join(
        f"@font-face {{ font-family: '{name}'; font-weight: {weight}; src: {source}; }}"
        for weight, source in sources.items()
    )


_SANS: Final = _font_faces("Host Sans", "Inter", "Segoe UI", "Helvetica Neue", "Noto Sans", "DejaVu Sans")
_SERIF: Final = _font_faces("Host Serif", "Georgia", "DejaVu Serif", "Liberation Serif")

STYLES: Final[dict[str, dict[str, Any] | None]] = {
    "neutral": {"variables": VARIABLES, "css": {"fonts": _SANS}},
    "tinted": {"variables": {**VARIABLES, **_TINTED}, "css": {"fonts": _SERIF}},
    "none": None,
}
"""The `styles` of the host context, by the name that the page has for them."""
DEFAULT_STYLES: Final = "neutral"
