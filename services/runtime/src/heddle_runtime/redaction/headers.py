"""Authorization headers and cookies."""

import re
from base64 import b64decode
from binascii import Error

from heddle_runtime.redaction.judgement import MAX_READ, is_placeholder
from heddle_runtime.redaction.scan import Groups, Span, rule

_MIN_TOKEN, _LONG_TOKEN = 6, 20
_SCHEMES_WITH_PARAMETERS = {"digest", "aws4-hmac-sha256", "hawk", "oauth", "mac", "signature"}
_TOKEN = re.compile(r"""[^\s"',;<>\\]++""")
_PARAMETERS = re.compile(
    r"""(?:[A-Za-z][\w-]*+[ ]?=[ ]?(?:\\{0,3}"[^"\n]*+"|[^\s,"']++),?[ ]*)++"""
)
_COOKIES = re.compile(
    r"""[\w!#$%&'*+.^`|~-]++=(?:"[^"\n]*+"|[^;\s"'\\]*+)"""
    r"""(?:;[ ]*[^\s=;,"'<>\\]++(?:=(?:"[^"\n]*+"|[^;\n\r"'\\]*+))?)*+"""
)


def _authorization(text: str, groups: Groups) -> Span | None:
    """Return the scheme and the credentials of a header, or credentials of no known scheme."""
    start, end = groups[1]
    if text[start : end - 1].lower() in _SCHEMES_WITH_PARAMETERS:
        parameters = _PARAMETERS.match(text, end)
        return (start, parameters.end()) if parameters else None
    return _after_scheme(text, start, end, _MIN_TOKEN)


def _bearer(text: str, groups: Groups) -> Span | None:
    start, end = groups[0]
    span = _after_scheme(text, start, end, _MIN_TOKEN)
    if span is None:
        return None
    value = text[end : min(span[1], end + MAX_READ)]
    has_digit = any(map(str.isdigit, value))
    return span if has_digit or (len(value) >= _LONG_TOKEN and "-" not in value) else None


def _basic(text: str, groups: Groups) -> Span | None:
    """Return credentials that are Base64 of `user:password`, unlike in "Basic authentication"."""
    start, end = groups[0]
    value = text[groups[1][0] : min(end, groups[1][0] + MAX_READ)].rstrip("=")
    try:
        decoded = b64decode(value[: len(value) // 4 * 4])
    except (Error, ValueError):
        return None
    return (start, end) if b":" in decoded else None


def _after_scheme(text: str, start: int, end: int, shortest: int) -> Span | None:
    run = _TOKEN.match(text, end)
    if run is None or is_placeholder(text[end : min(run.end(), end + MAX_READ)]):
        return None
    last = run.end()
    while last > end and text[last - 1] in ".:!?)]}":
        last -= 1
    return (start, last) if last - end >= shortest else None


def _cookies(text: str, groups: Groups) -> Span | None:
    end = groups[0][1]
    cookies = _COOKIES.match(text, end)
    return cookies.span() if cookies else None


def _jar(text: str, groups: Groups) -> Span | None:
    """Return the value of a line of a cookies.txt file."""
    end = groups[0][1]
    run = _TOKEN.match(text, end)
    return run.span() if run else None


RULES = (
    rule(
        r"""authorization(?:\\*["'])?[\])]?\s{0,4}[:=,>]\s{0,4}(?:b?\\*["'])?
        ((?:Bearer|Basic|Digest|Token|ApiKey|Api-Key|Key|Negotiate|NTLM|AWS4-HMAC-SHA256|SharedKey(?:Lite)?|Hawk|OAuth|Bot|GenieKey
        |GoogleLogin|SSWS|PVEAPIToken=|MAC|Splunk|Klaviyo-API-Key|DeepL-Auth-Key|Signature)[\x20=])""",
        _authorization,
    ),
    rule(r"\bBearer[\x20\t]{1,3}", _bearer),
    rule(r"\bBasic[\x20\t]{1,3}([A-Z0-9+/]{6,}={0,2})", _basic),
    rule(r"""cookies?2?(?:\\*["'])?\s{0,2}[:=]\s{0,2}(?:\\*["'])?""", _cookies),
    rule(r"\t(?:TRUE|FALSE)\t[^\t\n]*\t(?:TRUE|FALSE)\t[0-9]+\t[^\t\n]+\t", _jar),
)
