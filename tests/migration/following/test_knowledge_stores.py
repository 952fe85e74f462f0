"""Knowledge stores that change in LAMB."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from heddle_assistants.database.schema import knowledge_stores
from migration.following.following import Followed, following, small_lamb
from migration.lamb.lamb_database import NEWEST

PHYSICS, ARTS = "physics-uuid", "arts-uuid"


@pytest.fixture
async def both(database_url: str, tmp_path: Path) -> AsyncIterator[Followed]:
    lamb = small_lamb(tmp_path / "lamb_v4.db", NEWEST)
    lamb.add("knowledge_stores", {"id": PHYSICS, "name": "Physics"})
    async with following(database_url, lamb) as sides:
        await sides.until_followed("knowledge_stores", 1)
        yield sides


def by_store(rows: dict[int, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["store_id"]: row for row in rows.values()}


def edit(both: Followed, store: str, **columns: Any) -> None:
    names = ", ".join(f"{name} = ?" for name in columns)
    statement = f"UPDATE LAMB_knowledge_stores SET {names} WHERE id = ?"  # noqa: S608 - a test's names
    both.execute(statement, *columns.values(), store)


async def test_a_store_is_shared_and_handed_over_and_shared_no_longer(both: Followed) -> None:
    edit(both, PHYSICS, is_shared=1, owner_user_id=2)
    await both.until(
        lambda rows: (
            by_store(rows)[PHYSICS]["is_shared"]
            and by_store(rows)[PHYSICS]["owner_email"] == "bo@example.org"
        ),
        knowledge_stores,
    )
    edit(both, PHYSICS, is_shared=0)
    await both.until(lambda rows: not by_store(rows)[PHYSICS]["is_shared"], knowledge_stores)


async def test_a_store_moves_to_another_organisation(both: Followed) -> None:
    both.lamb.add("organizations", {"id": 2, "slug": "arts", "name": "Arts"})
    edit(both, PHYSICS, organization_id=2)
    await both.until(lambda rows: by_store(rows)[PHYSICS]["organization_id"] == 2, knowledge_stores)


async def test_new_stores_follow_and_the_last_one_may_go(both: Followed) -> None:
    both.lamb.add("knowledge_stores", {"id": ARTS, "name": "Arts", "embedding_vendor": "local"})
    await both.until(
        lambda rows: by_store(rows).get(ARTS, {}).get("embedding_vendor") == "local",
        knowledge_stores,
    )
    await both.until_followed("knowledge_stores", 2)
    both.execute("DELETE FROM LAMB_knowledge_stores")
    await both.until(lambda rows: not rows, knowledge_stores)
    assert not (await both.status()).report.problem
