"""Reports servers of an organisation that are in private networks."""

from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

from heddle_runtime.http.egress import SETTING, Egress

from heddle_assistants.accounts.resolution import resolved, servers
from heddle_assistants.accounts.secret_members import Config

_PRIVATE_DOMAINS = ("local", "localhost", "internal", "lan", "home", "corp", "intranet", "arpa")
"""The last parts of names that no public server has."""


def private_network_note(config: Config, egress: Egress) -> str:
    """Return a sentence that names an organisation's servers in private networks, or nothing.

    Names are not resolved, so nothing is said about a name like `kb.uni.example`. The service that
    connects to it checks its address.
    """
    names = ", ".join(_private_servers(config, egress))
    return f"Not reached unless {SETTING} allows their networks: {names}." if names else ""


def _private_servers(config: Config, egress: Egress) -> Iterator[str]:
    for name, address, _ in servers(resolved("", config, {})):
        with suppress(ValueError):  # not an address: the service that connects reports it
            parts = urlsplit(address)
            host, port = parts.hostname or "", f":{parts.port}" if parts.port else ""
            if host and not _is_permitted(host, egress):
                yield f"{name} at {host}{port}"


def _is_permitted(host: str, egress: Egress) -> bool:
    try:
        return egress.permits(host)
    except ValueError:  # a name
        *parents, last = host.rstrip(".").split(".")
        return bool(parents) and last not in _PRIVATE_DOMAINS
