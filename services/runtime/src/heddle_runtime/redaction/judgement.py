"""Decides whether a value is a secret, by its form and by the name that it has."""

import re
from typing import Any

from heddle_runtime.redaction.identifiers import is_identifier
from heddle_runtime.redaction.names import is_secret_name, is_weak_name

MAX_READ = 256
"""The number of characters of a value that are read. The name decides about a longer value."""
_MIN_STRONG, _MIN_WEAK, _MIN_MENTIONED_WEAK, _MIN_RANDOM_WEAK = 3, 6, 8, 16
_PART = re.compile(r"[A-Za-z0-9]+")
_NUMBERED_WORD = re.compile(r"[A-Za-z]?[a-z]{3,}[0-9]{1,4}|(?:ed|x)25519")
_RANDOM_PART = re.compile(
    # Letters and digits, or capital and small letters but not camelCase.
    r"(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{10,}"
    r"|(?=[A-Za-z]*[A-Z])(?=[A-Za-z]*[a-z])(?![A-Z]?[a-z]+(?:[A-Z][a-z]+)*$)[A-Za-z]{10,}"
)
_MIXED_PART = re.compile(r"(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]+")
_MIN_MIXED_DIGITS = 3
# What stands for a value: masks, templates, environment variables.
_TEMPLATE = re.compile(
    r"""
    [*xX\-.=_\#?~0\xe2\x80\xa2\xa6]++ | \.{2,}.* | \\.?
    | (?:[a-z]{2,8}[-_])*<.* | \[[A-Za-z _-]*+\]? | \{++[^{}]*+\}*+ | \([A-Za-z ]*+\)?
    | \$[({].* | \$\$?[A-Za-z_]\w*+ | %\(?\w*+\)?[sdr]? | %[A-Za-z_]++% | @++\w++@++ | :\w++
    """,
    re.DOTALL | re.VERBOSE,
)
_WORDS_FOR_VALUES = frozenset(
    """
    absent access_token any api_key apikey args auth authorization automatic await basic
    bearer bool boolean bytes cls config cookie cookies credential credentials
    default digest disabled empty enabled encrypted env environ environment expired
    false field file float here hidden incorrect int integer invalid key keys kwargs
    mandatory masked missing n/a na name new nil no none not null number object off
    omitted on optional passwd password passwords present prompt pwd redacted request
    required response sealed secret secret_key secrets secretstr self session set settings stdin
    str string text this token tokens true type undefined unknown unset user username
    valid value values vault withheld wrong yes
    """.split()  # noqa: SIM905 - a list would have a line for each word
)
_SAMPLE = re.compile(
    r"""
    \.\.\.$ | ^(?:not?|none|my|sk-no|sk-test|sk-fake)(?:[-_]|$) | [-_\ ](?:here|placeholder)$
    | (?:^|[-_\ .])(?:your|insert|replace|example|placeholder|dummy|todo)(?:[-_\ .]|$)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_ELIDED = re.compile(
    # sk-..., sk-proj-abc..., sk-****, hf_xxxx, AIza..., sk-...1a2b: the beginning of a key, if any
    r"(?:(?:[A-Za-z][A-Za-z0-9]{0,7}[-_]){1,4}|AKIA|AIza|eyJ)"
    r"(?:\w{0,6}?(?:\.{3,}|\*{3,}|[xX]{4,}|\xe2\x80\xa6|\u2026|\\u2026)\w{0,6}[\])}.,;:!?]*)?"
)
_REFERENCE = re.compile(r"\$?\.?(?:[A-Za-z_]\w*+\.)+[A-Za-z_]\w*+")
_CALL = re.compile(r"(?:[A-Za-z_]\w*+\.)*[A-Za-z_]\w*+[(\[].*", re.DOTALL)
_FLAG = re.compile(r"-?-[A-Za-z].*", re.DOTALL)
_OBJECTS = frozenset(
    """
    _ account app args auth body cfg client cls conf config configuration context cred credentials
    creds crypto ctx data database db django e env environ event faker fields form forms hashlib
    import input json local meta mod models module module opts options os params parser payload
    process props provider req request res response result row schema secrets self serializers
    session settings spec state store string super sys this types user users uuid validators value
    values var vars vault yup z
    """.split()  # noqa: SIM905 - a list would have a line for each word
)
"""Names of objects and modules that hold a secret or describe it: `settings.password`."""
_PATH = re.compile(
    r"(?:~|\.{1,2}|(?:[a-z]+\.)+[a-z]+)?(?:/[A-Za-z.][\w.-]*+)+/?|[A-Za-z]:\\.*"
    r"|[A-Za-z][A-Za-z0-9+.-]{1,12}+://.*|(?:urn|env|file|vault|arn|op|ssm|data):.*|https?%3A.*|%7B%22.*",
    re.DOTALL,
)
_COMMON = re.compile(
    r"[+-]?[0-9]{1,3}(?:[.,:][0-9]+)*[A-Za-z%]{0,4}"  # a number, a version, a duration, a size
    r"|v?[0-9]+(?:\.[0-9]+)+\S{0,12}"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}\S*"  # a date
)
_NAME = re.compile(
    # The name of a variable, of an environment variable, of a class or of a header as a value.
    r"[A-Za-z]*_[A-Za-z_]*"
    r"|x(?:-[a-z]+)+"  # of a header
    r"|[A-Za-z]*(?:key|token|secret|password|passwd|pwd|credentials?)[A-Za-z]*",
    re.IGNORECASE,
)
_ENCODED = re.compile(r"%(?:20|22|2F|3A|7B)")
_CAMEL_CASE = re.compile(r"[A-Za-z]?[a-z]+(?:[A-Z][a-z]+)+")
_CONSTANT = re.compile(r"[A-Z]+(?:_[A-Z]+)+")
_NUMBER = re.compile(r"[0-9]{1,3}(?:_[0-9]{3})+")
_PLAIN = re.compile(r"[A-Za-z0-9+/=]+")
_SIGNS = re.compile(r"[\w.~+/=%:@!$^*,-]+")
_WORDS = re.compile(r"(?:[A-Za-z]+[-_./:]?)+[0-9]{0,4}|[0-9]+")
_SENTENCE = re.compile(
    r"(?i)(?:^|\s)(?:the|an?|is|are|was|be|must|for|to|of|and|or|not?|with|in|your?|it|this|that"
    r"|here|if|from|by|as|at)\s"
)


def is_random(value: str) -> bool:
    """Return whether a value looks like a key and not like words, a version or a date."""
    parts = [each for each in _PART.findall(value[:MAX_READ]) if not _NUMBERED_WORD.fullmatch(each)]
    if any(_RANDOM_PART.fullmatch(part) for part in parts):
        return True
    mixed = "".join(part for part in parts if _MIXED_PART.fullmatch(part))
    return sum(map(str.isdigit, mixed)) >= _MIN_MIXED_DIGITS and len(mixed) >= _MIN_WEAK


def is_placeholder(value: str) -> bool:
    """Return whether a text is a placeholder for a secret."""
    value = value.strip()
    if len(value) > MAX_READ:
        return False
    if value.rstrip("]).,:;!?").lower() in _WORDS_FOR_VALUES or not value:
        return True
    if _SAMPLE.search(value) and not any(map(str.isdigit, value)):
        return True
    return bool(_TEMPLATE.fullmatch(value) or _ELIDED.fullmatch(value))


def is_assigned_secret(value: str, *, weak: bool, quoted: bool) -> bool:
    """Return whether a value is a secret that a program or a configuration assigns to a name.

    Args:
        value: The value, without quotation marks.
        weak: Whether the name often has values that are no secrets, for example `token`.
        quoted: Whether the value stands in quotation marks, so that it may contain spaces.
    """
    if len(value) > MAX_READ:
        return True
    if is_placeholder(value) or _is_path(value) or _is_sentence(value):
        return False
    if _CONSTANT.fullmatch(value) or _NUMBER.fullmatch(value):
        return False
    if not quoted and (is_reference(value) or _NAME.fullmatch(value)):
        return False
    return _is_token(value) if weak else len(value) >= _MIN_STRONG


def is_reference(value: str) -> bool:
    """Return whether a value is program text: `settings.api_key`, `os.environ["X"]`, `token()`."""
    if not _REFERENCE.fullmatch(value):
        is_flag = _FLAG.fullmatch(value) is not None and not is_random(value)
        return is_flag or _CALL.fullmatch(value) is not None
    if is_random(value):
        return False
    first, *others = value.lstrip("$.").lower().split(".")
    is_object = value[0] in "$." or first.strip("_") in _OBJECTS or len(first) == 1
    is_module = len(others) > 1 and value.islower() and value.replace(".", "").isalpha()
    last = others[-1]
    is_named = last in _OBJECTS or is_secret_name(last) or is_weak_name(last)
    return is_object or is_module or is_named


def _is_token(value: str) -> bool:
    """Return whether a value is long and random enough for a name that does not say much."""
    if is_identifier(value):
        return False
    if len(value) < _MIN_WEAK or not _SIGNS.fullmatch(value) or _COMMON.fullmatch(value):
        return False
    return is_random(value) or not (_WORDS.fullmatch(value) or _is_wordy(value)) or _is_long(value)


def _is_sentence(value: str) -> bool:
    return _is_wordy(value) and _SENTENCE.search(value) is not None


def _is_wordy(value: str) -> bool:
    return not any(map(str.isdigit, value))


def _is_long(value: str) -> bool:
    """Return whether a value is a long run of letters and digits, and not of words."""
    is_plain = _PLAIN.fullmatch(value) is not None and not _CAMEL_CASE.fullmatch(value)
    return is_plain and len(value) >= _MIN_RANDOM_WEAK


def _is_path(value: str) -> bool:
    return _PATH.fullmatch(value) is not None and ("://" in value or not is_random(value))


def is_mentioned_secret(value: str, *, weak: bool) -> bool:
    """Return whether a value is a secret that prose mentions after a name: `password: …`."""
    if len(value) > MAX_READ:
        return True
    # The decoded text is read as well.
    if is_placeholder(value) or _COMMON.fullmatch(value) or _ENCODED.search(value):
        return False
    if _is_path(value) or is_reference(value) or _NAME.fullmatch(value):
        return False
    if weak:
        is_long = len(value) >= _MIN_MENTIONED_WEAK
        return is_long and is_random(value) and not is_identifier(value, loose=True)
    if is_identifier(value):
        return False
    has_digit = any(map(str.isdigit, value))
    has_symbol = any(c in "!@#$%^&*+=~?" for c in value[:-1])
    return len(value) > _MIN_STRONG and (has_digit or has_symbol or is_random(value))


def is_secret_member(name: str, value: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Return whether a member of a JSON object is a secret by its name, whatever it holds."""
    if isinstance(value, int | float | bool | None) or value == "":
        return False
    if is_secret_name(name):
        return True
    return isinstance(value, str) and is_weak_name(name) and is_random(value)
