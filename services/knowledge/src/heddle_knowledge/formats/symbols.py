"""Characters of the fonts Symbol and Wingdings, which documents name by their place in the font."""

_SYMBOL = (
    (0x41, "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ"),
    (0x61, "αβχδεφγηιϕκλμνοπθρστυϖωξψζ"),
    (0xA3, "≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…"),  # noqa: RUF001 (a fraction bar)
    (0xC0, "ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓"),  # noqa: RUF001 (union, or)
    (0xE5, "∑"),
    (0xF2, "∫"),
)
_WINGDINGS = (
    (0x6C, "●"), (0x6E, "■"), (0xA7, "▪"), (0xA8, "☐"), (0xD8, "➢"), (0xDF, "←↑→↓"),
    (0xE0, "→"), (0xFB, "✗✓☒☑"),
)  # fmt: skip


def _places(*ranges: tuple[int, str]) -> dict[int, str]:
    return {start + at: sign for start, signs in ranges for at, sign in enumerate(signs)}


_FONTS = {"symbol": _places(*_SYMBOL), "wingdings": _places(*_WINGDINGS)}
_PRIVATE = 0xF000
"""Where Unicode's private area has the characters of such fonts."""
_ASCII = range(0x20, 0x7F)
WINGDINGS = {_PRIVATE + place: sign for place, sign in _FONTS["wingdings"].items()}
"""A table for `str.translate`: what a text has that names no font."""


def symbol(font: str, code: int) -> str:
    """Return the character at a place of a font; empty if it is unknown or decoration."""
    place = code - _PRIVATE if code >= _PRIVATE else code
    known = _FONTS.get(font.lower())
    if known is None:
        return chr(code) if code < _PRIVATE else ""
    plain = chr(place) if font.lower() == "symbol" and place in _ASCII else ""
    return known.get(place, plain)
