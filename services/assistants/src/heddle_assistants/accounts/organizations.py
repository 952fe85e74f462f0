"""The table of organisations."""

import hashlib
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import structlog
from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.contract.audit import Change, Members
from heddle_runtime.errors import AlreadyExistsError, ConflictError
from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import ColumnElement, bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.accounts.access import no_organization
from heddle_assistants.accounts.checks import check_slug
from heddle_assistants.accounts.secret_members import Config, resealed
from heddle_assistants.accounts.settings_text import replaced
from heddle_assistants.audit.log import AuditLog
from heddle_assistants.database.encryption import Keys, UnreadableSecretError
from heddle_assistants.database.schema import organizations

log = structlog.get_logger(__name__)
COLUMNS = (
    organizations.c.slug,
    organizations.c.name,
    organizations.c.is_system,
    organizations.c.status,
    organizations.c.config,
)
_MISSING = (
    "The settings of the organisation {slug!r} hold secrets that were encrypted with a key that is "
    "not in HEDDLE_ASSISTANTS_ENCRYPTION_KEY. Add the former key after a comma: NEW,FORMER. A key "
    "that the service generated is in the file beside the SQLite database that ends in "
    ".encryption-key. If the key is lost, set HEDDLE_ASSISTANTS_SECRETS_LOST=true and enter the "
    "secrets of the organisation again."
)


@dataclass(frozen=True, slots=True)
class Organization:
    """A row of the table, with encrypted secrets."""

    slug: str
    name: str
    imported_system: bool
    status: str
    config: str = field(repr=False)

    @property
    def system(self) -> bool:
        """Whether it is the operator's organisation: the imported one, or the default.

        No later one is, so that no tenant receives the operator's own settings.
        """
        return self.imported_system or self.slug == DEFAULT_ORGANIZATION

    @property
    def settings(self) -> Config:
        """The settings; empty if the stored text is not a JSON object, as in a foreign row."""
        try:
            config = json.loads(self.config)
        except (ValueError, RecursionError):
            config = None
        if not isinstance(config, dict):
            log.warning("settings cannot be read", organization=self.slug)
            return {}
        return config

    @property
    def etag(self) -> str:
        """A text that changes with every change of the row."""
        parts = json.dumps([self.slug, self.name, self.status, self.config])
        return hashlib.sha256(parts.encode()).hexdigest()[:32]


class Organizations:
    """Reads and writes organisations."""

    def __init__(self, database: Database, audit: AuditLog, keys: Keys) -> None:
        self._database = database
        self._audit = audit
        self._keys = keys
        self._find = organization_reader(database)

    async def get(self, slug: str) -> Organization:
        """Return the organisation of a slug.

        Raises:
            NotFoundError: There is none.
        """
        organization = await self._find(slug)
        if organization is None:
            raise no_organization(slug)
        return organization

    async def listed(
        self, where: ColumnElement[bool], after: str, limit: int
    ) -> list[Organization]:
        """Return organisations in the order of their slugs.

        Args:
            where: The condition of the organisations.
            after: The slug before the first.
            limit: The maximum number of results.
        """
        query = select(*COLUMNS).where(organizations.c.slug > after, where)
        query = query.order_by(organizations.c.slug).limit(limit)
        async with self._database.reading() as connection:
            return [Organization(*row) for row in await connection.execute(query)]

    async def put(
        self, request: pb.PutOrganizationRequest, settings: Config | None
    ) -> Organization:
        """Create or change an organisation.

        Args:
            request: The organisation. An empty name stays as it is.
            settings: Its settings. If None, they stay as they are.

        Raises:
            AlreadyExistsError: It must be new and is not, or another caller made it meanwhile.
            ConflictError: It changed since the caller read it.
            InvalidRequestError: The settings or a new slug are wrong.
            NotFoundError: There is none to change.
        """
        slug = request.organization.slug
        try:
            async with self._audit.writing() as (connection, changes):
                known = await locked(connection, slug)
                _check_expected(request, known)
                if known is None:
                    check_slug(slug)
                stored = await self._write(connection, request.organization, settings, known)
                changes.append(_change(known, stored))
                return stored
        except IntegrityError:
            raise _already_exists(slug) from None

    async def _write(
        self,
        connection: AsyncConnection,
        organization: pb.Organization,
        settings: Config | None,
        known: Organization | None,
    ) -> Organization:
        slug, now = organization.slug, int(time.time())
        if known is None:
            config = replaced(settings or {}, {}, self._keys, slug)
            values = {"slug": slug, "name": organization.name or slug, "config": config}
            query = insert(organizations).values(**values, created_at=now, updated_at=now)
            return Organization(*(await connection.execute(query.returning(*COLUMNS))).one())
        config = known.config
        if settings is not None:
            config = replaced(settings, known.settings, self._keys, slug)
        change = update(organizations).where(organizations.c.slug == slug)
        change = change.values(name=organization.name or known.name, config=config, updated_at=now)
        return Organization(*(await connection.execute(change.returning(*COLUMNS))).one())


def _check_expected(request: pb.PutOrganizationRequest, known: Organization | None) -> None:
    slug = request.organization.slug
    if known is not None and request.only_new:
        raise _already_exists(slug)
    if known is None and request.etag:
        raise no_organization(slug)
    if known is not None and request.etag not in ("", known.etag):
        raise ConflictError(
            f"The organisation {slug!r} changed since it was read. Read it again.",
            organization=slug,
        )


def _already_exists(slug: str) -> AlreadyExistsError:
    return AlreadyExistsError(f"There is an organisation {slug!r} already.", organization=slug)


def _change(known: Organization | None, stored: Organization) -> Change:
    slug, after = stored.slug, _members(stored)
    if known is None:
        return Change("organization.create", slug, slug, after=after)
    return Change("organization.update", slug, slug, _members(known), after)


def _members(organization: Organization) -> Members:
    settings = {f"settings.{name}": value for name, value in organization.settings.items()}
    return {"name": organization.name, "status": organization.status, **settings}


def organization_reader(database: Database) -> Callable[[str], Awaitable[Organization | None]]:
    """Return a function that reads the organisation of a slug."""
    read = database.row_reader(select(*COLUMNS).where(organizations.c.slug == bindparam("slug")))

    async def find(slug: str) -> Organization | None:
        row = await read(slug)
        return Organization(*row) if row else None

    return find


async def locked(connection: AsyncConnection, slug: str) -> Organization | None:
    """Return the organisation of a slug, locked until the transaction ends."""
    # SQLite has no words for it and needs none: a writer is alone.
    query = select(*COLUMNS).where(organizations.c.slug == slug).with_for_update()
    row = (await connection.execute(query)).one_or_none()
    return Organization(*row) if row else None


log = structlog.get_logger(__name__)


async def reseal(database: Database, keys: Keys, *, refuse: bool) -> None:
    """Encrypt the secrets of all organisations with the first key, and those that are plain.

    Args:
        database: Where the organisations are.
        keys: The first one encrypts.
        refuse: Whether a secret that no key decrypts is an error. If not, it is logged, and the
            organisation is left as it is.

    Raises:
        ValueError: No key decrypts a secret. The message names the setting and the remedy.
    """
    async with database.reading() as connection:
        slugs = (await connection.execute(select(organizations.c.slug))).scalars().all()
    for slug in slugs:
        try:
            await _reseal(database, keys, slug)
        except UnreadableSecretError as error:
            if refuse:
                raise ValueError(_MISSING.format(slug=slug)) from error
            log.error("settings are sealed with another key", organization=slug, cause=str(error))  # noqa: TRY400 - the key is at fault, a traceback says nothing


async def _reseal(database: Database, keys: Keys, slug: str) -> None:
    async with database.writing() as connection:
        organization = await locked(connection, slug)
        if organization is None:
            return
        settings = organization.settings
        renewed = resealed(settings, keys, slug)
        if renewed != settings:
            query = update(organizations).where(organizations.c.slug == slug)
            await connection.execute(query.values(config=json.dumps(renewed)))
