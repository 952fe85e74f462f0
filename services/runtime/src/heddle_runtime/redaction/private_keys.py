"""Private keys in PEM and similar text forms, also with escaped line ends and if cut off."""

import re

from heddle_runtime.redaction.scan import Groups, Span, rule

_BODY = re.compile(
    # Line ends, also as program text has them; headers; lines of Base64.
    r"""(?:(?:\\{1,4}[nrt]|[\s"'+,|>#*])++"""
    r"|(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]{0,200}+"
    r"|[A-Za-z0-9/+=_]{20,}+)*+"
    r"[A-Za-z0-9/+_]{0,19}+=*+"
)
_END = re.compile(r"-----END[A-Z0-9 +]{0,60}-----")
_MAX_CHARACTERS = 20_000


def _secret(text: str, groups: Groups) -> Span:
    """Return the key up to its end mark; without one, up to what cannot belong to a key."""
    start, begin = groups[0]
    limit = text.find("-----BEGIN", begin, begin + _MAX_CHARACTERS)
    limit = begin + _MAX_CHARACTERS if limit < 0 else limit
    end = text.find("-----END", begin, limit)
    if end >= 0:
        mark = _END.match(text, end)
        return start, mark.end() if mark else end
    body = _BODY.match(text, begin, limit)
    return start, body.end() if body else begin


RULES = (
    rule(
        r"-----BEGIN[\x20+](?:[A-Z0-9]+[\x20+])*PRIVATE[\x20+]KEY(?:\x20BLOCK)?-----"
        r"|Private-Lines:\x20\d+",
        _secret,
        exact=True,
    ),
)
