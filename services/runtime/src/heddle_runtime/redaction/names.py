"""The names that secrets have in programs, configurations, protocols and several languages."""

import re
from functools import lru_cache

_GAP = r"[-_.\x20]?"
_KEY_OWNERS = (
    rf"access|account|admin|app|application|auth|client|consumer|deploy|developer|encryption|fernet"
    rf"|function|hmac|host|ingest|integration|jwt|license|master|private|read|rest|root|sas|secret"
    rf"|server|service|session|shared|shared{_GAP}access|signing|ssh|storage|subscription|team"
    rf"|webhook|write"
)
_TOKEN_KINDS = (
    rf"access|auth|bearer|refresh|session|security|secret|personal{_GAP}access|bot|oauth|private"
    rf"|user|api|registry"
)
STRONG = (
    r"pass(?:[-_\x20]?(?:word|phrase|code|wort)|wd)|pswd|pwd|kennwort|contrase(?:ñ|n)a|contrasenya"
    r"|palabra\x20de\x20paso|mot[-_\x20]de[-_\x20]passe|senha|wachtwoord|pasahitza"
    r"|密码|密碼|パスワード|пароль|Пароль|hasło|heslo|lösenord|adgangskode"
    rf"|(?:x-)?api{_GAP}(?:key|secret|token|auth)|(?:{_KEY_OWNERS}){_GAP}key"
    rf"|(?:admin|db|database|email|ftp|imap|ldap|mail|mysql|pg|postgres|redis|root|smtp|ssh|user)"
    rf"[-_.]?pass"
    rf"|secret{_GAP}access{_GAP}key|access{_GAP}key{_GAP}secret|(?:{_TOKEN_KINDS}){_GAP}token"
    rf"|secret|pepper|otp|requirepass|masterauth|ws-?token"
    rf"|psk|code{_GAP}verifier|saml{_GAP}response|totp{_GAP}seed|connection{_GAP}string|jaas{_GAP}config"
)
"""Names whose values are secrets. For RE2 and for Python; upper and lower case are the same."""
WEAK = (
    r"token|jwt|auth|pass|pw|bearer|credentials?|creds|session(?:id)?|sid|sess[-_]?key|csrf|xsrf"
    r"|pat|key|sig|signature|authorization|nonce"
)
"""Names whose values are secrets if they look random."""
SUFFIX = (
    r"(?:[-_]?(?:value|data|base64|b64|base|hex|raw|plain|plaintext|text|prod|production|dev|test"
    r"|staging|live|old|new|current|header|[0-9]{1,3}))?"
)
"""Suffixes of names, for example in `API_KEY_PROD`."""
_OTHERS = frozenset(
    """
 answer audio bos cache cls completion composite content continuation
    correlation cursor dedup each end eos etag every first foreign group hash
    idempotency image index input last lookup map mask max memory message min natural
    next num object order output pad page pages partition per primary prompt pub
    public request resume routing row sep shard sort special start stop surrogate sync
 trace translation unique unk
    """.split()  # noqa: SIM905 - a list would have a line for each word
)
"""Words before a name that make it another name: `next_page_token`, `public_key`."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SECRET_MEMBER = re.compile(
    rf"(?:{STRONG}|credentials?|creds|token|auth|authorization|cookies?|set-cookie|bearer|jwt"
    rf"|secrets|api[-_]?keys|passwords|private|csrf){SUFFIX}",
    re.IGNORECASE,
)
_WEAK_MEMBER = re.compile(rf"(?:{WEAK}){SUFFIX}", re.IGNORECASE)
_MAX_NAME = 100


@lru_cache(1_024)
def is_secret_name(name: str) -> bool:
    """Return whether a member of this name holds a secret: `api_key`, `userPassword`."""
    return _ends_with(_SECRET_MEMBER, name)


@lru_cache(1_024)
def is_weak_name(name: str) -> bool:
    """Return whether a member of this name may hold a secret, which then looks random."""
    return _ends_with(_WEAK_MEMBER, name)


def is_exempt(before: str) -> bool:
    """Return whether the words before a name make it another one: `next_page_` of a token."""
    end = len(before)
    while end and before[end - 1] in "-_. ":
        end -= 1
    start = end
    while start and before[start - 1].isalpha():
        start -= 1
        if before[start].isupper() and before[start + 1 : end].islower():
            break  # the last word of pageToken or PageToken
    return before[start:end].lower() in _OTHERS


def _ends_with(pattern: re.Pattern[str], name: str) -> bool:
    words = _CAMEL.sub("_", name[-_MAX_NAME:])
    starts = [0, *(match.end() for match in re.finditer(r"[-_. \[]", words))]
    for start in starts:
        if pattern.fullmatch(words, start, len(words.rstrip("])"))):
            return not is_exempt(words[:start])
    # Written as one word: dbpassword, mytoken.
    match = re.search(r"(?:password|passwd|apikey|secret|token)$", words, re.IGNORECASE)
    return match is not None and pattern is _SECRET_MEMBER and not is_exempt(words[: match.start()])
