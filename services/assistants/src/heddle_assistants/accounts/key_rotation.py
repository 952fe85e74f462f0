"""Sealing every secret with the newest key, so that an older one can be given up."""

import json

import structlog
from sqlalchemy import select, update

from heddle_assistants.accounts.encryption import Keys, UnreadableSecretError
from heddle_assistants.accounts.organizations import locked
from heddle_assistants.accounts.secret_members import resealed
from heddle_assistants.database.engine import Database
from heddle_assistants.database.schema import organizations

log = structlog.get_logger(__name__)


async def reseal(database: Database, keys: Keys) -> None:
    """Seal the secrets of all organisations with the first key, also those that are not sealed.

    An organisation with a secret that no key opens is logged and left as it is.
    """
    async with database.reading() as connection:
        slugs = (await connection.execute(select(organizations.c.slug))).scalars().all()
    for slug in slugs:
        try:
            await _reseal(database, keys, slug)
        except UnreadableSecretError as error:
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
