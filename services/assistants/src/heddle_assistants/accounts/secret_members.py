"""Encrypts, decrypts and masks the secret members of settings."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from heddle_assistants.database.encryption import Keys, Place, is_sealed

MASK = "********"
Config = Mapping[str, Any]
"""An organisation's settings: a JSON object."""
_NAMES = re.compile(
    r"(?:^|[_-])(?:api_?key|key|keys|token|secrets?|pass(?:word|wd|phrase)?|pwd|credentials?"
    r"|authorization|auth|cookie|wstoken|bearer)$",
    re.IGNORECASE | re.ASCII,
)
PIN = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
"""The accepted form of a tool of an MCP server. It is public, whatever the tool is called."""
_PUBLIC = re.compile(r"public_?key$", re.IGNORECASE | re.ASCII)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_URL_WITH_PASSWORD = re.compile(r"[a-z][a-z0-9+.-]{1,20}://[^\s/?#@]*:[^\s/?#@]*@", re.IGNORECASE)

Change = Callable[[Any, Place], Any]


def sealed(config: Config, keys: Keys, slug: str) -> dict[str, Any]:
    """Return settings in the form that is stored: with every secret encrypted.

    Args:
        config: Settings as an administrator, or an import, writes them.
        keys: The first one encrypts.
        slug: The organisation.
    """
    return _changed(config, (slug,), _is_secret, keys.seal)


def opened(config: Config, keys: Keys, slug: str) -> dict[str, Any]:
    """Return stored settings with decrypted secrets.

    Raises:
        UnreadableSecretError: A secret was encrypted with other keys, or for another place.
    """
    return _changed(config, (slug,), lambda _, value: is_sealed(value), keys.open)


def resealed(config: Config, keys: Keys, slug: str) -> dict[str, Any]:
    """Return stored settings with every secret encrypted by the first key. Raises as `opened`."""

    def renewed(value: Any, place: Place) -> str:  # noqa: ANN401 - any JSON value
        if not is_sealed(value):
            return keys.seal(value, place)
        current: str = value
        return (
            current
            if keys.is_current(current, place)
            else keys.seal(keys.open(current, place), place)
        )

    return _changed(config, (slug,), _is_secret, renewed)


def masked(config: Config) -> dict[str, Any]:
    """Return stored settings with masked secrets, as people may see them."""
    # Also secrets that are not sealed, which rows of other origin may hold.
    return _changed(config, ("",), _is_secret, lambda _, __: MASK)


def unmasked(settings: Config, stored: Config, keys: Keys, slug: str) -> dict[str, Any]:
    """Return an administrator's settings, with stored secrets in place of their masks.

    Args:
        settings: May say `"********"` in the place of a secret.
        stored: The stored settings before.
        keys: The keys of their secrets.
        slug: The organisation.

    Raises:
        KeyError: No secret is stored at a masked place. The argument is the place, with dots.
        UnreadableSecretError: As of `opened`.
    """

    def former(_: Any, place: Place) -> Any:  # noqa: ANN401 - any JSON value
        value = _former(stored, place)
        return keys.open(value, place) if is_sealed(value) else value

    return _changed(settings, (slug,), _is_mask, former)


def put_back(settings: Config, stored: Config) -> dict[str, Any]:
    """Return an administrator's settings likewise, with those secrets still encrypted.

    Raises:
        KeyError: As of `unmasked`.
    """
    return _changed(settings, ("",), _is_mask, lambda _, place: _former(stored, place))


def _is_mask(_: bool, value: Any) -> bool:  # noqa: ANN401, FBT001 - called by position only
    return bool(value == MASK)


def _former(stored: Config, place: Place) -> Any:  # noqa: ANN401 - any JSON value
    value: Any = stored
    for step in place[1:]:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            value = None
    if value is None or isinstance(value, Mapping | list):
        raise KeyError(".".join(map(str, place[1:])))
    return value


def _changed(
    config: Config, place: Place, applies: Callable[[bool, Any], bool], change: Change
) -> dict[str, Any]:
    def walk(value: Any, place: Place, *, secret: bool) -> Any:  # noqa: ANN401 - any JSON value
        match value:
            case Mapping():
                return {
                    name: walk(item, (*place, name), secret=secret or is_secret_name(name))
                    for name, item in value.items()
                }
            case list():
                return [
                    walk(item, (*place, index), secret=secret) for index, item in enumerate(value)
                ]
            case _:
                named = secret and not _is_pin(place, value)
                return change(value, place) if applies(named, value) else value

    return {
        name: walk(item, (*place, name), secret=is_secret_name(name))
        for name, item in config.items()
    }


def _is_pin(place: Place, value: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Return whether a value is at `mcp_servers.SERVER.pins.TOOL` and has the form of a pin."""
    match place:
        case (*_, "mcp_servers", _, "pins", _):
            return isinstance(value, str) and bool(PIN.fullmatch(value))
        case _:
            return False


def is_secret_name(name: str) -> bool:
    """Return whether a member of this name holds a secret."""
    words = _HUMP.sub("_", name)
    return bool(_NAMES.search(words)) and not _PUBLIC.search(words)


def _is_secret(named: bool, value: Any) -> bool:  # noqa: ANN401, FBT001 - called by position only
    match value:
        case None | bool() | "":
            return False
        case str() if is_sealed(value) or _URL_WITH_PASSWORD.match(value):
            return True  # nobody but this module writes a sealed text, so one that is given is text
        case _:
            return named
