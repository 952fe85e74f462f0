"""LAMB's keys of learning platforms, and the links that are in courses."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial

from heddle.migration.v1 import migration_pb2 as pb
from heddle_runtime.errors import InvalidRequestError

from heddle_migration_service.lamb.organization_slugs import OrganizationSlugs
from heddle_migration_service.lamb.stored_rows import stored_rows
from heddle_migration_service.lamb.tables import LambTables
from heddle_migration_service.lamb.values import LambRow
from heddle_migration_service.lti import stored_links as stored
from heddle_migration_service.lti.courses import Courses

_KEY = ("oauth_consumer_key", "oauth_consumer_secret")
_ALL, _AUTHORS, _ACTIVITIES = "lti_global_config", "lti_creator_keys", "lti_activities"
_TABLES = {
    _ALL: _KEY,
    _AUTHORS: (*_KEY, "organization_id", "enabled"),
    _ACTIVITIES: (
        *("resource_link_id", "organization_id", "activity_name", "context_title", "status"),
        *("owner_email", "configured_by_email"),
    ),
    "assistant_publish": ("oauth_consumer_name", "assistant_id", "assistant_name"),
}
_Entry = tuple[stored.Consumer | stored.Link, Sequence[str], str]
"""A key or a link, what identifies it, and the teacher of its group."""


@dataclass(frozen=True, slots=True)
class LinkImport:
    """Stores keys and links. What is stored already stays as it is."""

    texts: stored.LtiTexts
    courses: Courses

    async def run(
        self, tables: LambTables, slugs: OrganizationSlugs, *, dry_run: bool
    ) -> AsyncGenerator[pb.RunMigrationResponse]:
        """Yield the progress of each table."""
        for table, columns in _TABLES.items():
            store = partial(self._store, tables, slugs, table, dry_run=dry_run)
            async with aclosing(stored_rows(tables, table, columns, store)) as responses:
                async for response in responses:
                    yield response

    async def _store(
        self,
        tables: LambTables,
        slugs: OrganizationSlugs,
        table: str,
        row: LambRow,
        *,
        dry_run: bool,
    ) -> bool:
        """Store what a row says, and return whether it is new."""
        entry = await _entry(tables, slugs, table, row)
        if entry is None or await self.texts.get(type(entry[0]), *entry[1]):
            return False
        value, parts, teacher = entry
        if isinstance(value, stored.Link) and not value.assistants:
            raise InvalidRequestError("None of its assistants is in LAMB any more.")
        if dry_run:
            return True
        if isinstance(value, stored.Link) and teacher:
            await self.courses.group(value, teacher, *parts)
        return await self.texts.put(value, *parts)


async def _entry(
    tables: LambTables, slugs: OrganizationSlugs, table: str, row: LambRow
) -> _Entry | None:
    """Return what Heddle stores of a row; None if that is nothing."""
    if table in (_ALL, _AUTHORS):
        key, secret = (row.text(name) for name in _KEY)
        if not (key and secret and row.flag("enabled", default=True)):
            return None
        if table == _ALL:
            return stored.Consumer(secret), (stored.ACTIVITY, key), ""
        return stored.Consumer(secret, slugs.of(row)), (stored.AUTHORS, key), ""
    if table == _ACTIVITIES:
        return await _activity(tables, slugs, row)
    name, number = row.text("oauth_consumer_name"), row.whole("assistant_id")
    known = await tables.matching("assistants", "id", [number or 0], ("organization_id",))
    if name is None or name in ("", "null") or not known:
        return None
    link = stored.Link(slugs.of(known[0]), [str(number)], row.text("assistant_name") or "")
    return link, (stored.ASSISTANT, name), ""


async def _activity(tables: LambTables, slugs: OrganizationSlugs, row: LambRow) -> _Entry | None:
    identifier = row.text("resource_link_id")
    if not identifier or row.text("status") not in (None, "active"):
        return None
    offered, column = "lti_activity_assistants", "assistant_id"
    rows = await tables.matching(offered, "activity_id", [row.whole("id") or 0], (column,))
    numbers = [number for each in rows if (number := each.whole(column)) is not None]
    there = {each.whole("id") for each in await tables.matching("assistants", "id", numbers, ())}
    title = row.text("activity_name") or row.text("context_title") or ""
    assistants = [str(number) for number in numbers if number in there]
    link = stored.Link(slugs.of(row), assistants, title)
    teacher = row.text("owner_email") or row.text("configured_by_email") or ""
    return link, (stored.ACTIVITY, identifier), teacher
