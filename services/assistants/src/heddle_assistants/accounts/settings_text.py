"""Reads the settings that administrators send, and refuses wrong ones."""

import json
from typing import Any

from heddle_conversion.contract_tools import CHANGES
from heddle_conversion.errors import MalformedMetadataError
from heddle_conversion.json_text import checked
from heddle_runtime.contract.host_lists import host_problems
from heddle_runtime.errors import InvalidRequestError, Violation

from heddle_assistants.accounts.model_prices import PriceError, read_prices
from heddle_assistants.accounts.resolution import (
    PROVIDERS,
    STORE,
    chat_problems,
    model_names_setting,
    on_change_setting,
    output_hosts_setting,
    prices,
    resolved,
    retention_problems,
    servers,
    telemetry_setting,
)
from heddle_assistants.accounts.secret_members import (
    MASK,
    Config,
    put_back,
    sealed,
    unmasked,
)
from heddle_assistants.database.encryption import Keys, UnreadableSecretError

_FIELD = "organization.settings_json"
_LARGEST = 256 * 1024


def parsed(text: str) -> dict[str, Any]:
    """Return the object that a text holds.

    Raises:
        InvalidRequestError: It is not the text of a JSON object, too large or nested too deep.
    """
    if len(text) > _LARGEST:
        raise wrong(f"must have at most {_LARGEST} characters")
    try:
        return checked(json.loads(text))
    except MalformedMetadataError as error:
        raise wrong(error.violations[0].description) from None
    except (ValueError, RecursionError) as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise wrong(f"must be the text of a JSON object{where}") from None


def replaced(settings: Config, stored: Config, keys: Keys, slug: str) -> str:
    """Return the text to store for an administrator's settings.

    Args:
        settings: May say `"********"` in the place of a secret, which stays as it is.
        stored: The stored settings before.
        keys: The keys that encrypt the secrets.
        slug: The organisation.

    Raises:
        InvalidRequestError: There is no such secret, or it would go to another server. Or a
            price, a host of `output_hosts`, `on_change`, `telemetry`, `retention`,
            `chat` or `model_names` is wrong.
    """
    try:
        _refuse_moves(settings, stored)
        plain = unmasked(settings, stored, keys, slug)
        read_prices(prices(plain))
        _check_hosts(plain)
        if on_change_setting(plain) not in list(CHANGES):
            raise wrong("is wrong at 'on_change': must be run, ask or never")
        _check_telemetry(plain)
        _check_retention(plain)
        if problems := list(chat_problems(plain)):
            raise wrong(f"is wrong at 'chat': {'; '.join(problems)}")
        _check_model_names(plain)
        return json.dumps(sealed(plain, keys, slug))
    except PriceError as error:
        raise wrong(f"is wrong at 'prices': {error}") from None
    except KeyError as error:
        raise wrong(f"says {MASK!r} at {error.args[0]!r}, where no secret is kept") from None
    except UnreadableSecretError as error:
        raise wrong(
            f"says {MASK!r} where a secret is kept that HEDDLE_ASSISTANTS_ENCRYPTION_KEY does not "
            f"open. {error} Give it anew"
        ) from None


def _check_hosts(config: Config) -> None:
    value = output_hosts_setting(config)
    if not isinstance(value, str):
        raise wrong("is wrong at 'output_hosts': must be a text, such as 'example.org'")
    if problems := [problem for _, problem in host_problems(value)]:
        raise wrong(f"is wrong at 'output_hosts': {'; '.join(problems)}")


def _check_telemetry(config: Config) -> None:
    """Refuse a value that is meant to forbid texts in traces and would not."""
    telemetry = telemetry_setting(config)
    if not isinstance(telemetry, dict) or not isinstance(telemetry.get("content", True), bool):
        raise wrong("is wrong at 'telemetry': must be an object whose 'content' is true or false")


def _check_retention(config: Config) -> None:
    """Refuse limits of retention that would delete less than they seem to."""
    if problems := list(retention_problems(config)):
        raise wrong(f"is wrong at 'retention': {'; '.join(problems)}")


def _check_model_names(config: Config) -> None:
    names = model_names_setting(config)
    if not isinstance(names, dict) or not all(
        name and isinstance(each, str) and each for name, each in names.items()
    ):
        raise wrong(
            "is wrong at 'model_names': must be an object of names of models and assistants, such "
            "as {'claude-*': 'lamb_assistant.1'}"
        )


def _refuse_moves(settings: Config, stored: Config) -> None:
    """Refuse to send a stored secret to a server of the caller's choice.

    It goes where it went before, or nowhere: another secret of the same server, which an earlier
    change moved, says nothing about this one.
    """
    before, after = _reached(stored), _reached(put_back(settings, stored))
    address, former = (reached.get(STORE, ("", ""))[0] for reached in (after, before))
    store_moves = address not in ("", former)
    for name, (_, secret) in _reached(settings).items():
        if secret != MASK:
            continue
        if after.get(name) != before.get(name):
            raise wrong(f"changes the address of {name!r}: give its secret anew")
        if store_moves and name.startswith(PROVIDERS):
            raise wrong(
                f"changes the address of {STORE!r}, which gets the keys of providers: give the "
                f"secret of {name!r} anew"
            )


def _reached(config: Config) -> dict[str, tuple[str, str]]:
    addresses = servers(resolved("", config, {}))
    return {name: (address, secret) for name, address, secret in addresses}


def wrong(what: str) -> InvalidRequestError:
    """Return the error for wrong settings; `what` names the fault."""
    return InvalidRequestError("The settings are not valid.", [Violation(_FIELD, what)])
