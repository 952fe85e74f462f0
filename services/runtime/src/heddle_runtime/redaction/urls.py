"""Passwords and keys in URLs."""

import re

from heddle_runtime.redaction.judgement import MAX_READ, is_placeholder, is_random
from heddle_runtime.redaction.scan import Groups, Span, rule

_PARAMETER = re.compile(r"""[^\s&;#"'<>`\\]++""")
_LONG = 20


def _user(text: str, groups: Groups) -> Span | None:
    """Return the password of `user:password@host`, or a key in the user's place."""
    start, end = groups[0]
    start, end = start + len("://"), end - len("@")
    colon = text.find(":", start, end)
    first = start if colon < 0 else colon + 1
    value = text[first : min(end, first + MAX_READ)]
    if is_template(value) or (colon < 0 and not is_random(value)):
        return None
    return (first, end) if end > first else None


def is_template(value: str) -> bool:
    """Return whether a part of a URL is to be filled in. A password may well be `secret`."""
    return is_placeholder(value) and not value.isalpha()


def _parameter(text: str, groups: Groups) -> Span | None:
    end = groups[0][1]
    run = _PARAMETER.match(text, end)
    if run is None:
        return None
    value = text[end : min(run.end(), end + MAX_READ)]
    is_secret = is_random(value) or (len(value) >= _LONG and any(map(str.isdigit, value)))
    return run.span() if is_secret and not is_placeholder(value) else None


def _thin(_: str, groups: Groups) -> Span:
    """Return the password of Oracle's `user/password@host`."""
    return groups[1] if groups[1][0] >= 0 else groups[0]


def _login(text: str, groups: Groups) -> Span | None:
    """Return the password of `user:password@host:port`, without a scheme."""
    first, last = groups[1]
    return (first, last) if is_random(text[first:last]) else None


RULES = (
    rule(r"""\b[\w.+-]{1,64}:([^\s:@/"'<>`]{6,128})@[\w-]+(?:\.[\w-]+)*:[0-9]{2,5}\b""", _login),
    rule(r"""://[^\s/?#"'<>`@]*@(?:[^\s/?#"'<>`@]*@)*""", _user),
    rule(
        r"[?&;](?:key|sig|signature|code|sign|ticket|hash|k|t|s|access|x-amz-(?:signature|credential|security-token)"
        r"|x-goog-(?:signature|credential)|access_?token|wstoken|token|apikey|api_key|appid|subscription-key|auth)=",
        _parameter,
    ),
    rule(r"jdbc:oracle:[a-z]+:[^\s/@:]{1,64}/([^\s@/]{1,128})@", _thin),
)
