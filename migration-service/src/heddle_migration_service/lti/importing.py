"""Takes over LAMB's keys of learning platforms, and the links that are in courses."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from heddle.migration.v1 import migration_pb2 as pb
from heddle_runtime.errors import HeddleError, InvalidRequestError, to_status

from heddle_migration_service.lamb.organization_slugs import OrganizationSlugs
from heddle_migration_service.lamb.tables import LambTables
from heddle_migration_service.lamb.values import LambRow
from heddle_migration_service.lti.courses import Courses
from heddle_migration_service.lti.texts import (
    ACTIVITY,
    ASSISTANT,
    AUTHORS,
    Consumer,
    Link,
    LtiTexts,
)

_KEY = ("oauth_consumer_key", "oauth_consumer_secret")
_TABLES = {
    "lti_global_config": _KEY,
    "lti_creator_keys": (*_KEY, "organization_id", "enabled"),
    "lti_activities": (
        *("resource_link_id", "organization_id", "activity_name", "context_title", "status"),
        *("owner_email", "configured_by_email"),
    ),
    "assistant_publish": ("assistant_id", "assistant_name", "oauth_consumer_name"),
}
_NOBODY = (None, "", "null")
Responses = AsyncGenerator[pb.RunMigrationResponse]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A key or a link, as Heddle stores it."""

    value: Consumer | Link
    parts: Sequence[str]
    owner: str = ""
    """The teacher of its group; empty: it gets one with the first launch."""


@dataclass(frozen=True, slots=True)
class LinkImport:
    """Stores keys and links. What is stored already stays as it is."""

    texts: LtiTexts
    courses: Courses

    async def run(
        self, tables: LambTables, slugs: OrganizationSlugs, *, dry_run: bool
    ) -> Responses:
        """Yield the progress of each table."""
        for table, columns in _TABLES.items():
            if not await tables.columns(table):
                continue
            progress, findings = pb.Progress(), list[pb.Finding]()
            async for row, entry in _entries(tables, slugs, table, columns):
                progress.total += 1
                try:
                    is_new = entry is not None and await self._store(entry, dry_run=dry_run)
                except HeddleError as error:
                    progress.refused += 1
                    name = row.text(columns[0]) or ""
                    findings.append(
                        pb.Finding(id=_id(row), name=name[:200], error=to_status(error))
                    )
                    continue
                progress.changed += is_new
                progress.unchanged += not is_new
            name = f"{table} (LTI)" if table == "assistant_publish" else table
            yield pb.RunMigrationResponse(table=name, progress=progress, findings=findings)

    async def _store(self, entry: _Entry, *, dry_run: bool) -> bool:
        value = entry.value
        if isinstance(value, Link) and not value.assistants:
            raise InvalidRequestError("None of its assistants is in LAMB any more.")
        if await self.texts.get(type(value), *entry.parts):
            return False
        if dry_run:
            return True
        if isinstance(value, Link) and entry.owner:
            await self.courses.group(value, entry.owner, *entry.parts)
        return await self.texts.add(value, *entry.parts)


async def _entries(
    tables: LambTables, slugs: OrganizationSlugs, table: str, columns: Sequence[str]
) -> AsyncIterator[tuple[LambRow, _Entry | None]]:
    async with aclosing(tables.batches(table, columns)) as batches:
        async for rows in batches:
            for row in rows:
                yield row, await _entry(tables, slugs, table, row)


async def _entry(
    tables: LambTables, slugs: OrganizationSlugs, table: str, row: LambRow
) -> _Entry | None:
    """Return a row as Heddle stores it; None if there is nothing to store."""
    match table:
        case "lti_activities":
            return await _activity(tables, slugs, row)
        case "assistant_publish":
            return await _publication(tables, slugs, row)
        case _:
            return _key(slugs, table, row)


def _key(slugs: OrganizationSlugs, table: str, row: LambRow) -> _Entry | None:
    key, secret = (row.text(name) for name in _KEY)
    if not (key and secret and row.flag("enabled", default=True)):
        return None
    if table == "lti_global_config":
        return _Entry(Consumer(secret), (ACTIVITY, key))
    return _Entry(Consumer(secret, slugs.of(row)), (AUTHORS, key))


async def _activity(tables: LambTables, slugs: OrganizationSlugs, row: LambRow) -> _Entry | None:
    identifier = row.text("resource_link_id")
    if not identifier or row.text("status") not in (None, "active"):
        return None
    keys = [row.whole("id") or 0]
    rows = await tables.matching("lti_activity_assistants", "activity_id", keys, ("assistant_id",))
    wanted = [key for each in rows if (key := each.whole("assistant_id")) is not None]
    there = {each.whole("id") for each in await tables.matching("assistants", "id", wanted, ())}
    title = row.text("activity_name") or row.text("context_title") or ""
    link = Link(slugs.of(row), [str(key) for key in wanted if key in there], title)
    owner = row.text("owner_email") or row.text("configured_by_email") or ""
    return _Entry(link, (ACTIVITY, identifier), owner)


async def _publication(tables: LambTables, slugs: OrganizationSlugs, row: LambRow) -> _Entry | None:
    name, key = row.text("oauth_consumer_name"), row.whole("assistant_id")
    if name in _NOBODY or name is None or key is None:
        return None
    known = await tables.matching("assistants", "id", [key], ("organization_id",))
    if not known:
        return None
    link = Link(slugs.of(known[0]), [str(key)], row.text("assistant_name") or "")
    return _Entry(link, (ASSISTANT, name))


def _id(row: LambRow) -> str:
    return str(row.whole("id") or "")
