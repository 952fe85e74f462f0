"""Superscripts, subscripts and formulas as text, so that 10 to the power of 24 is not 1024."""

import re

_RAISED = str.maketrans("0123456789+-−=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ")  # noqa: RUF001 (a minus sign)
_LOWERED = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")  # noqa: RUF001 (a minus sign)
_ORDINALS = frozenset({"st", "nd", "rd", "th", "er", "ère", "ème", "tm", "sm", "®", "™", "°"})
_FRACTION = re.compile(r"\\frac\{(\w+)\}\{(\w+)\}")
_SCRIPT = re.compile(r"([\^_])(?:\{([^{}]*)\}|(\w))")
_MARKUP = re.compile(r"[\\{}&]")


def raised(text: str) -> str:
    """Return superscript text: `²⁴`, or `^(text)` where Unicode has no such characters."""
    return _script(text, _RAISED, "^")


def lowered(text: str) -> str:
    """Return subscript text: `₂`, or `_(text)` where Unicode has no such characters."""
    return _script(text, _LOWERED, "_")


def formula(latex: str) -> str:
    """Return a formula as a line of text: `x¹²` and `3/16` plainly, others in LaTeX between `$`."""
    written = " ".join(latex.split())
    plain = _SCRIPT.sub(_written_script, _FRACTION.sub(r"\1/\2", written))
    return f"${written}$" if _MARKUP.search(plain) else plain


def _written_script(match: re.Match[str]) -> str:
    text = match[2] or match[3] or ""
    return raised(text) if match[1] == "^" else lowered(text)


def _script(text: str, signs: dict[int, int], mark: str) -> str:
    words = text.strip()
    if not words or words.startswith("[") or words.casefold() in _ORDINALS:
        return text
    if all(ord(sign) in signs for sign in words):
        return text.translate(signs)
    written = f"{mark}{words}" if len(words) == 1 else f"{mark}({words})"
    return text.replace(words, written)
