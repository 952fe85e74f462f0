"""Servers of LAMB's organisations that Heddle does not reach as it is set up."""

from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

from heddle_runtime.egress import SETTING, Egress

from heddle_migration_service.accounts.resolution import resolved, servers
from heddle_migration_service.accounts.secret_members import Config

_INSIDE = ("local", "localhost", "internal", "lan", "home", "corp", "intranet", "arpa")
"""Last words of names that no public server has."""


def inside(config: Config, egress: Egress) -> str:
    """Return a sentence that names an organisation's servers in private networks, or nothing.

    Nothing is looked up: of a name like `kb.uni.example` nobody can tell. Who asks the server does.
    """
    found = ", ".join(_inside(config, egress))
    return f"Not reached unless {SETTING} allows their networks: {found}." if found else ""


def _inside(config: Config, egress: Egress) -> Iterator[str]:
    for name, address, _ in servers(resolved("", config, {})):
        with suppress(ValueError):  # no address: who asks the server says so
            parts = urlsplit(address)
            host, port = parts.hostname or "", f":{parts.port}" if parts.port else ""
            if host and not _permits(host, egress):
                yield f"{name} at {host}{port}"


def _permits(host: str, egress: Egress) -> bool:
    try:
        return egress.permits(host)
    except ValueError:  # a name
        *above, last = host.rstrip(".").split(".")
        return bool(above) and last not in _INSIDE
