"""Values after a name: `name=value`, `name: value`, JSON, YAML, XML, program text, and prose."""

import re

from heddle_runtime.redaction.judgement import (
    MAX_READ,
    is_assigned_secret,
    is_mentioned_secret,
    is_placeholder,
    is_reference,
)
from heddle_runtime.redaction.names import STRONG, SUFFIX, WEAK, is_exempt
from heddle_runtime.redaction.scan import Groups, Span, rule

_STRONG, _ASSIGNED, _MEMBER, _SPACED, _VERB = 1, 2, 3, 4, 5
_MAX_SECRET = 8_192
_LOOK_BACK = 40
_OPENING = re.compile(
    r"""(?:[bBrRuUfF]{1,2}|(?:Secret(?:Str|Bytes)?|String|str|bytes)\()?(\\{0,8}["'`]{1,3})"""
)
_SCHEME = re.compile(r"(?:Bearer|Basic|Token|ApiKey|Key)[ \t]+(?=[^\s\"'])", re.IGNORECASE)
_RUN = re.compile(r"""[^\s"'`<>|\\][^\s"'`,;&<>|\\]*+""")
_REST = re.compile(r"[^\s\"'\\]{1,512}+")
_LINE_END = re.compile(r"[ \t]*(?:[#;].*)?(?:\r?\n|$|\\n|\\r)")
_LINE_START = re.compile(r"(?:^|\n|\\n)[ \t]*(?:[-*>][ \t]*)?(?:export[ \t]+)?[\w.-]*$")
_TRAILING = ".,:;!?)]}*"


def _secret(text: str, groups: Groups) -> Span | None:
    start, end = groups[0]
    name = groups[_STRONG]
    weak = name[0] < 0
    previous = text[start - 1] if start else ""
    if weak and _is_other_word(text, start, previous):
        return None
    spaced = groups[_SPACED][0] >= 0
    if spaced:
        end = groups[_SPACED][1]
        weak = weak or groups[_VERB][0] < 0
    opening = _OPENING.match(text, end)
    if opening is not None:
        return _quoted(text, opening, weak=weak, prose=spaced or _is_item(text, groups))
    if _is_item(text, groups):
        return None
    scheme = _SCHEME.match(text, end)
    run = _RUN.match(text, scheme.end() if scheme else end)
    if run is None:
        return None
    first, last = run.span()
    if is_placeholder(text[first : min(last, first + MAX_READ + 1)]):
        return None
    last = _line_value(text, start, first, last) or _without_trailing(text, first, last)
    value = text[first : min(last, first + MAX_READ + 1)]
    if not spaced and _is_assignment(text, groups, start, last):
        secret = is_assigned_secret(value, weak=weak, quoted=False)
    else:
        secret = is_mentioned_secret(value, weak=weak)
    return (first, last) if secret else None


def _is_item(text: str, groups: Groups) -> bool:
    """Return whether the name is an item of a list, which need not be followed by its value."""
    first, last = groups[_MEMBER]
    return (
        first >= 0
        and text[last - 1] in ", \t\n"
        and ":" not in text[first:last]
        and "=" not in text[first:last]
    )


def _is_other_word(text: str, start: int, previous: str) -> bool:
    """Return whether a name is the end of another one, as in `monkey` or `next_page_token`."""
    if previous.isalpha() and not text[start].isupper() and text[start : start + 5] != "token":
        return True
    return bool(previous) and is_exempt(text[max(0, start - _LOOK_BACK) : start])


def _quoted(text: str, opening: re.Match[str], *, weak: bool, prose: bool) -> Span | None:
    quote, first = opening[1], opening.end()
    limit = first + _MAX_SECRET
    last = text.find(quote, first, limit)
    while last > first and text[last - 1] == "\\" and quote[0] != "\\":
        last = text.find(quote, last + 1, limit)
    if last < 0:  # cut off
        run = _RUN.match(text, first)
        last = run.end() if run else first
    value = text[first : min(last, first + MAX_READ + 1)]
    scheme = _SCHEME.match(value)
    if scheme is not None:
        value = value[scheme.end() :]
    if quote == "`" and " " in value:  # a command of a shell
        return None
    if "\n" in value.strip() or not value or (prose and not is_mentioned_secret(value, weak=weak)):
        return None
    return (first, last) if is_assigned_secret(value, weak=weak, quoted=True) else None


def _in_quotes(text: str, groups: Groups) -> Span | None:
    opening = _OPENING.match(text, groups[0][1] - 1)
    return None if opening is None else _quoted(text, opening, weak=False, prose=False)


def _element(text: str, groups: Groups) -> Span | None:
    first = groups[0][1]
    last = text.find("</", first, first + _MAX_SECRET)
    if last < 0 or "<" in text[first:last]:
        return None
    value = text[first : min(last, first + MAX_READ + 1)]
    return (first, last) if is_assigned_secret(value, weak=False, quoted=True) else None


def _is_assignment(text: str, groups: Groups, start: int, last: int) -> bool:
    """Return whether a configuration or a program assigns the value, instead of prose."""
    if groups[_MEMBER][0] >= 0:
        return True
    separator = text[groups[_ASSIGNED][0] : groups[_ASSIGNED][1]]
    if "==" in separator:  # a comparison
        return False
    if "=" in separator:
        return not (separator[0] == " " and text[last : last + 1] in ("(", "["))
    if not separator.endswith((" ", "\t")):
        return True
    # A line of YAML or of an .ini file.
    before = text[max(0, start - _LOOK_BACK) : start]
    return _LINE_END.match(text, last) is not None and _LINE_START.search(before) is not None


def _line_value(text: str, start: int, first: int, last: int) -> int:
    """Return the end of a value with signs such as `;` if it fills a line of a file; else 0."""
    rest = _REST.match(text, last)
    if (
        rest is None
        or is_reference(text[first:last][:MAX_READ])
        or not rest[0].strip(_TRAILING)
        or _LINE_END.match(text, rest.end()) is None
    ):
        return 0
    before = text[max(0, start - _LOOK_BACK) : start]
    is_file = text[first - 1] in "= :" and _LINE_START.search(before) is not None
    return rest.end() if is_file and "://" not in text[first : rest.end()][:MAX_READ] else 0


def _without_trailing(text: str, first: int, last: int) -> int:
    """Return the end of a value without the punctuation of the sentence around it."""
    end = last
    while end > first and last - end < len(_TRAILING) and text[end - 1] in _TRAILING:
        end -= 1
    return end if end > first else last


_CLOSING = r"""(?:\\*["'`]|[\])]|\*\*)*"""
_SEPARATOR = (
    r"(?:\x20?:\x20?[A-Za-z.]{2,20}\x20?=|:=|=>|->|(?:\|\||\?\??|\+)?={1,3}"
    r"|:|\xEF\xBC\x9A)"  # `\xEF\xBC\x9A` is the wide colon of Chinese
)
_NEXT_LINE = r"(?:(?:[|>][-+]?[\x20\t]*)?\r?\n[\x20\t]*)?"
"""The text before a value on another line than its name; in YAML perhaps with `|` or `>`."""
_VERBS = (
    r"(?:is|was|are|ist|es|és|est|da)\s+(?:(?:set|changed|equal|now)\s+(?:to\s+)?)?"
    r"|(?:provided|supplied|used|given|received)\s*:?\s+"
)
_QUOTE = r"""\\*["'`]"""
RULES = (
    rule(
        rf"""(?:({STRONG})|(?:{WEAK})){SUFFIX}
        (?:
          {_CLOSING}(?:\x20\[[^\]\n]{{0,40}}\])?([\x20\t]*{_SEPARATOR}[\x20\t]*{_NEXT_LINE})
        | ((?:{_CLOSING}[\s,]+(?:{_QUOTE})?(?:value|content){_CLOSING}\s*[:=]\s*)|{_QUOTE}\)?,\s?)
        | ([\s|]+((?:{_VERBS}):?\s*)?){_QUOTE}?[^\s"'`]*(?:[0-9]|(?-i:[a-z][A-Z]))
        )""",
        _secret,
        value=_SPACED,
    ),
    rule(rf"<[\w.:-]*(?:{STRONG}|token){SUFFIX}(?:\s[^<>]*)?>", _element),
    rule(rf"(?:identified\s+by|passw(?:or)?d(?:\s+is)?)\s+(?:as\s+)?{_QUOTE}", _in_quotes),
)
