"""What LAMB's database says about collections: owners, organisations and their servers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heddle_runtime.http.egress import server_address

from heddle_migration_service.lamb import knowledge_bases, organization_slugs, users
from heddle_migration_service.lamb.organization_slugs import OrganizationSlugs
from heddle_migration_service.lamb.tables import LambTables
from heddle_migration_service.lamb.values import LambRow, settings_member

_URLS, _TOKENS = ("server_url", "url"), ("api_token", "api_key", "token")


@dataclass(frozen=True, slots=True, weakref_slot=True)
class LambServer:
    """A knowledge-base server of LAMB."""

    url: str
    """Without a slash at the end; empty if there is none."""
    token: str = field(repr=False)
    guarded: bool = False
    """Whether an organisation names it, which may not name every address."""
    problem: str = ""
    """Why the address cannot be used."""


NO_SERVER = LambServer("", "")


@dataclass(frozen=True, slots=True)
class LambUser:
    """A user of LAMB, who may own collections."""

    number: int
    email: str
    organization: str
    """The slug of the organisation."""


@dataclass(frozen=True, slots=True)
class RegisteredCollection:
    """An entry of the registry."""

    name: str
    organization: str
    """The slug of the organisation, whose server has the collection."""
    owner: LambUser | None


@dataclass(slots=True)
class LambRegistry:
    """The registry of collections, and what belongs to it."""

    users: dict[str, LambUser] = field(default_factory=dict)
    """By number, and by e-mail address."""
    collections: dict[str, RegisteredCollection] = field(default_factory=dict)
    """By the identifier that assistants name."""
    servers: dict[str, LambServer] = field(default_factory=dict)
    """By the slug of the organisation. Only of organisations that have one."""
    operators: LambServer = NO_SERVER
    """The server of organisations that name none."""
    settings: dict[str, str] = field(default_factory=dict)
    """By the slug, the member of an organisation's settings that LAMB reads the address from.
    Missing for organisations whose server LAMB takes from its environment."""


async def lamb_registry(
    tables: LambTables, slugs: OrganizationSlugs, operators: LambServer
) -> LambRegistry:
    """Read the registry.

    Args:
        tables: LAMB's tables.
        slugs: The slugs of its organisations.
        operators: The server of organisations that name none.
    """
    registry = LambRegistry(operators=operators)
    await _read_servers(registry, tables, slugs)
    async for rows in tables.batches(users.TABLE, ("organization_id", "user_email")):
        for row in rows:
            number, email = row.whole("id"), row.text("user_email") or ""
            if number is not None and email:
                user = LambUser(number, email, slugs.of(row))
                registry.users |= {str(number): user, email: user}
    columns = ("kb_id", "kb_name", "owner_user_id", "organization_id")
    async for rows in tables.batches(knowledge_bases.TABLE, columns):
        for row in rows:
            identifier = row.text("kb_id") or ""
            registry.collections[identifier] = RegisteredCollection(
                row.text("kb_name") or identifier,
                slugs.of(row),
                registry.users.get(str(row.whole("owner_user_id"))),
            )
    registry.collections.pop("", None)
    return registry


async def _read_servers(
    registry: LambRegistry, tables: LambTables, slugs: OrganizationSlugs
) -> None:
    async for rows in tables.batches(organization_slugs.TABLE, ("is_system", "config")):
        for row in rows:
            server, slug = _server(row, registry.operators), slugs.by_lamb_id[row.whole("id") or 0]
            if server.url:
                registry.servers[slug] = server
            if not row.flag("is_system") and (setting := _setting(row)):
                registry.settings[slug] = setting
    open_ones = {(it.url, it.token): it for it in registry.servers.values() if not it.guarded}
    for slug, server in registry.servers.items():  # a new organisation gets the system's server
        registry.servers[slug] = open_ones.get((server.url, server.token), server)


def _server(row: LambRow, operators: LambServer) -> LambServer:
    """Return the server of an organisation, as LAMB chooses it."""
    knowledge = _knowledge(row)
    url, token = _first(knowledge, _URLS), _first(knowledge, _TOKENS)
    if not url:
        return operators
    try:
        url = server_address(url)
    except ValueError as error:
        return LambServer(url, "", problem=f"The address of its knowledge-base server {error}.")
    if url == operators.url:
        return operators
    return LambServer(url, token, guarded=not row.flag("is_system"))


def _knowledge(row: LambRow) -> dict[str, Any]:
    knowledge: dict[str, Any] = {}
    for name in ("knowledge_base", "kb_server"):
        for place in (("setups", "default"), ()):
            member = settings_member(row.text("config"), *place, name)
            knowledge |= member if isinstance(member, Mapping) else {}
    return knowledge


def _setting(row: LambRow) -> str:
    """Return the path of the address of an organisation's server; empty if it names none."""
    for name in _URLS:  # LAMB prefers the first name, wherever it is
        for path in (("kb_server",), ("setups", "default", "knowledge_base")):
            member = settings_member(row.text("config"), *path)
            if isinstance(member, Mapping) and member.get(name):
                return ".".join((*path, name))
    return ""


def _first(place: Mapping[str, Any], names: tuple[str, ...]) -> str:
    texts = (place.get(name) for name in names)
    return next((text.strip() for text in texts if isinstance(text, str) and text.strip()), "")
