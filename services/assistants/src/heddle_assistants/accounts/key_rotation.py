"""Encrypts all secrets with the newest key, so that an operator can remove older keys."""

import json

import structlog
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import select, update

from heddle_assistants.accounts.organizations import locked
from heddle_assistants.accounts.secret_members import resealed
from heddle_assistants.database.encryption import Keys, UnreadableSecretError
from heddle_assistants.database.schema import organizations

log = structlog.get_logger(__name__)
_MISSING = (
    "The settings of the organisation {slug!r} hold secrets that were encrypted with a key that is "
    "not in HEDDLE_ASSISTANTS_ENCRYPTION_KEY. Add the former key after a comma: NEW,FORMER. A key "
    "that the service generated is in the file beside the SQLite database that ends in "
    ".encryption-key. If the key is lost, set HEDDLE_ASSISTANTS_SECRETS_LOST=true and enter the "
    "secrets of the organisation again."
)


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
