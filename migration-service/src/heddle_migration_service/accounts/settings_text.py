"""Settings as administrators send them: read, and refused where they are wrong."""

import json
from typing import Any

from heddle_runtime.errors import InvalidRequestError, Violation

from heddle_migration_service.accounts.resolution import prices, resolved, servers
from heddle_migration_service.accounts.sealing import Keys, UnreadableSecretError
from heddle_migration_service.accounts.secret_members import MASK, Config, sealed, unmasked
from heddle_migration_service.conversion.errors import MalformedMetadataError
from heddle_migration_service.conversion.text import checked
from heddle_migration_service.usage.prices import PriceError, read_prices

_FIELD = "organization.settings_json"
_LARGEST = 256 * 1024


def parsed(text: str) -> dict[str, Any]:
    """Return the object that a text holds.

    Raises:
        InvalidRequestError: It is not the text of a JSON object, too large or nested too deep.
    """
    if len(text) > _LARGEST:
        raise _wrong(f"must have at most {_LARGEST} characters")
    try:
        return checked(json.loads(text))
    except MalformedMetadataError as error:
        raise _wrong(error.violations[0].description) from None
    except (ValueError, RecursionError) as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise _wrong(f"must be the text of a JSON object{where}") from None


def replaced(given: Config, kept: Config, keys: Keys, slug: str) -> str:
    """Return the text to keep for settings that an administrator gave.

    Args:
        given: May say `"********"` in the place of a secret, which stays as it is.
        kept: What is kept so far.
        keys: What seals the secrets.
        slug: Of the organisation.

    Raises:
        InvalidRequestError: There is no such secret, or it would go to another server. Or a
            price is wrong.
    """
    _refuse_moves(given, kept)
    try:
        plain = unmasked(given, kept, keys, slug)
        read_prices(prices(plain))
        return json.dumps(sealed(plain, keys, slug))
    except PriceError as error:
        raise _wrong(f"is wrong at 'setups.default.prices': {error}") from None
    except KeyError as error:
        raise _wrong(f"says {MASK!r} at {error.args[0]!r}, where no secret is kept") from None
    except UnreadableSecretError as error:
        raise _wrong(
            f"says {MASK!r} where a secret is kept that HEDDLE_MIGRATION_ENCRYPTION_KEY does not "
            f"open. {error} Give it anew"
        ) from None


def _refuse_moves(given: Config, kept: Config) -> None:
    """Refuse to send a secret that somebody else gave to a server of the caller's choice."""
    known = {name: address for name, address, _ in servers(resolved("", kept, {}))}
    for name, address, secret in servers(resolved("", given, {})):
        if secret == MASK and address not in (known.get(name), MASK):
            raise _wrong(f"changes the address of {name!r}: give its secret anew")


def _wrong(what: str) -> InvalidRequestError:
    return InvalidRequestError("The settings are not valid.", [Violation(_FIELD, what)])
