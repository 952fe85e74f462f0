"""The rules for passwords."""

import secrets

from heddle_runtime.errors import InvalidRequestError, Violation

MIN_PASSWORD_CHARACTERS = 12
MAX_PASSWORD_CHARACTERS = 256
_MIN_DIFFERENT = 5
_MIN_NAME_CHARACTERS = 4
_GENERATED_BYTES = 15


def generated_password() -> str:
    """Return a password of 120 random bits."""
    return secrets.token_urlsafe(_GENERATED_BYTES)


def check_new_password(password: str, email: str) -> None:
    """Refuse a new password that breaks the rules.

    Raises:
        InvalidRequestError: It breaks one. The message does not repeat it.
    """
    check_length(password)
    if len(password) < MIN_PASSWORD_CHARACTERS:
        raise _wrong(f"must have at least {MIN_PASSWORD_CHARACTERS} characters")
    if len(set(password)) < _MIN_DIFFERENT:
        raise _wrong(f"must have at least {_MIN_DIFFERENT} different characters")
    name = email.partition("@")[0].casefold()
    if len(name) >= _MIN_NAME_CHARACTERS and name in password.casefold():
        raise _wrong("must not contain the name of the e-mail address")


def check_length(password: str) -> None:
    """Refuse a password that is longer than any that is stored.

    Raises:
        InvalidRequestError: It is.
    """
    if len(password) > MAX_PASSWORD_CHARACTERS:
        raise _wrong(f"must have at most {MAX_PASSWORD_CHARACTERS} characters")


def _wrong(what: str) -> InvalidRequestError:
    return InvalidRequestError("The password is not valid.", [Violation("password", what)])
