"""What LAMB's database says about collections: owners, organisations and their servers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heddle_runtime.http.egress import server_address

from heddle_migration_service.lamb import knowledge_bases, organization_slugs, users
from heddle_migration_service.lamb.organization_slugs import OrganizationSlugs
from heddle_migration_service.lamb.tables import LambTables
from heddle_migration_service.lamb.values import LambRow, settings_member

_KNOWLEDGE, _LIBRARY = ("knowledge_base", "kb_server"), ("library",)
"""The members of an organisation's settings that name its server, the last one first."""
_LIBRARIES = "libraries"
_LIBRARY_COLUMNS = ("name", "description", "owner_user_id", "organization_id", "is_shared")
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


@dataclass(frozen=True, slots=True)
class Library:
    """A library of documents."""

    identifier: str
    name: str
    description: str
    owner: LambUser | None
    is_shared: bool
    server: LambServer


@dataclass(slots=True)
class LambRegistry:
    """The registry of collections, and what belongs to it."""

    users: dict[str, LambUser] = field(default_factory=dict)
    """By number, and by e-mail address."""
    collections: dict[str, RegisteredCollection] = field(default_factory=dict)
    """By the identifier that assistants name."""
    servers: dict[str, LambServer] = field(default_factory=dict)
    """By the slug of the organisation. Only of organisations that have one."""
    libraries: list[Library] = field(default_factory=list)
    operators: LambServer = NO_SERVER
    """The server of organisations that name none."""
    settings: dict[str, str] = field(default_factory=dict)
    """By the slug, the member of an organisation's settings that LAMB reads the address from.
    Missing for organisations whose server LAMB takes from its environment."""


async def lamb_registry(
    tables: LambTables, slugs: OrganizationSlugs, operators: LambServer, library: LambServer
) -> LambRegistry:
    """Read the registry.

    Args:
        tables: LAMB's tables.
        slugs: The slugs of its organisations.
        operators: The knowledge-base server of organisations that name none.
        library: The library server of organisations that name none.
    """
    registry = LambRegistry(operators=operators)
    library_servers = await _read_servers(registry, tables, slugs, library)
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
    async for rows in tables.batches(_LIBRARIES, _LIBRARY_COLUMNS):
        registry.libraries += [
            Library(
                row.text("id") or "",
                row.text("name") or "",
                row.text("description") or "",
                registry.users.get(str(row.whole("owner_user_id"))),
                row.flag("is_shared"),
                library_servers.get(slugs.of(row), library),
            )
            for row in rows
        ]
    return registry


async def _read_servers(
    registry: LambRegistry, tables: LambTables, slugs: OrganizationSlugs, library: LambServer
) -> dict[str, LambServer]:
    """Read the servers of organisations, and return their library servers."""
    library_servers: dict[str, LambServer] = {}
    async for rows in tables.batches(organization_slugs.TABLE, ("is_system", "config")):
        for row in rows:
            slug = slugs.by_lamb_id[row.whole("id") or 0]
            server = _server(row, registry.operators, _KNOWLEDGE)
            library_servers[slug] = _server(row, library, _LIBRARY)
            if server.url:
                registry.servers[slug] = server
            if not row.flag("is_system") and (setting := _setting(row)):
                registry.settings[slug] = setting
    open_ones = {(it.url, it.token): it for it in registry.servers.values() if not it.guarded}
    for slug, server in registry.servers.items():  # a new organisation gets the system's server
        registry.servers[slug] = open_ones.get((server.url, server.token), server)
    return library_servers


def _server(row: LambRow, operators: LambServer, names: tuple[str, ...]) -> LambServer:
    """Return the server of an organisation, as LAMB chooses it."""
    members = _members(row, names)
    url, token = _first(members, _URLS), _first(members, _TOKENS)
    if not url:
        return operators
    try:
        url = server_address(url)
    except ValueError as error:
        return LambServer(url, "", problem=f"The address of its server {error}.")
    if url == operators.url:
        return operators
    return LambServer(url, token, guarded=not row.flag("is_system"))


def _members(row: LambRow, names: tuple[str, ...]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name in names:
        for place in (("setups", "default"), ()):
            member = settings_member(row.text("config"), *place, name)
            members |= member if isinstance(member, Mapping) else {}
    return members


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
