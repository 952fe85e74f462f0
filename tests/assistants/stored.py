"""What the database holds, put there and looked at behind the service's back."""

import json
from typing import Any

from heddle_assistants.database.schema import (
    assistants,
    knowledge_bases,
    knowledge_stores,
    organizations,
    originals,
    prompts,
    rubrics,
    usage,
    users,
)
from heddle_assistants.repository.saving import save_new
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import Row, func, insert, select

LEGACY = {
    "connector": "openai",
    "llm": "gpt-4o-mini",
    "prompt_processor": "simple_augment",
    "rag_processor": "simple_rag",
}
TEXT = json.dumps(LEGACY)
# Of an older shape, which LAMB would not save any more.
RUBRIC = '{"criteria": [{"name": "Thesis", "levels": [{"name": "Good", "points": 4}]}]}'


async def keep_organization(database: Database, slug: str) -> int:
    """Return the id of an organisation, which is made if there is none."""
    query = select(organizations.c.id).where(organizations.c.slug == slug)
    async with database.writing() as connection:
        found: int | None = await connection.scalar(query)
        if found is None:
            values = {"slug": slug, "name": slug, "created_at": 1, "updated_at": 1}
            made = insert(organizations).values(values).returning(organizations.c.id)
            found = (await connection.execute(made)).scalar_one()
    return found


async def keep_user(database: Database, email: str, organization: str, number: int) -> None:
    """Keep a user under a given id."""
    values = {
        "id": number,
        "organization_id": await keep_organization(database, organization),
        "email": email,
        "role": "creator",
        "created_at": 1,
        "updated_at": 1,
    }
    async with database.writing() as connection:
        await connection.execute(insert(users).values(values))


async def keep(database: Database, *, organization: str = "uni", **columns: object) -> str:
    """Return the id of a new row, a legacy one unless `metadata` says otherwise."""
    values: dict[str, object] = {
        "organization_id": await keep_organization(database, organization),
        "name": "1_tutor",
        "owner": "ada@uni.example",
        "metadata": TEXT,
        "rag_top_k": 5,
        "rag_collections": "4, 7",
        "created_at": 1_700_000_000,
        "updated_at": 1_700_000_000,
    }
    query = insert(assistants).values(values | columns).returning(assistants.c.id)
    async with database.writing() as connection:
        number: int = (await connection.execute(query)).scalar_one()
        await save_new(connection, "import", [number])
    return str(number)


async def keep_rubric(
    database: Database, identifier: str, *, organization: str = "uni", **columns: object
) -> str:
    """Keep a rubric of Ada's as an import does, and return its id."""
    values: dict[str, object] = {
        "organization_id": await keep_organization(database, organization),
        "rubric_id": identifier,
        "owner_email": "ada@uni.example",
        "title": "Essay",
        "rubric_data": RUBRIC,
        "created_at": 1_700_000_000,
        "updated_at": 1_700_000_000,
    }
    async with database.writing() as connection:
        await connection.execute(insert(rubrics).values(values | columns))
    return identifier


async def keep_prompt(database: Database, identifier: str, **columns: object) -> str:
    """Keep a prompt of Ada's, and return its id."""
    values: dict[str, object] = {
        "organization_id": await keep_organization(database, "uni"),
        "prompt_id": identifier,
        "owner_email": "ada@uni.example",
        "title": "Tutor",
        "created_at": 1_700_000_000,
        "updated_at": 1_700_000_000,
    }
    async with database.writing() as connection:
        await connection.execute(insert(prompts).values(values | columns))
    return identifier


async def keep_collection(
    database: Database,
    identifier: str,
    *,
    organization: str = "uni",
    owner: str = "ada@uni.example",
    shared: bool = False,
) -> None:
    """Keep an entry of LAMB's registry, of Ada's unless said otherwise."""
    values = {
        "organization_id": await keep_organization(database, organization),
        "kb_id": identifier,
        "owner_email": owner,
        "name": "Optics",
        "is_shared": shared,
        "created_at": 1,
        "updated_at": 1,
    }
    async with database.writing() as connection:
        await connection.execute(insert(knowledge_bases).values(values))


async def keep_store(
    database: Database,
    identifier: str,
    *,
    organization: str = "uni",
    owner: str = "ada@uni.example",
    shared: bool = False,
    vendor: str = "openai",
    endpoint: str = "",
) -> None:
    """Keep a knowledge store of LAMB's registry, of Ada's unless said otherwise."""
    async with database.reading() as connection:
        count = await connection.scalar(select(func.count()).select_from(knowledge_stores))
    values = {
        "id": (count or 0) + 1,
        "organization_id": await keep_organization(database, organization),
        "store_id": identifier,
        "owner_email": owner,
        "name": "Optics",
        "is_shared": shared,
        "embedding_vendor": vendor,
        "embedding_model": "small",
        "embedding_endpoint": endpoint,
        "created_at": 1,
        "updated_at": 1,
    }
    async with database.writing() as connection:
        await connection.execute(insert(knowledge_stores).values(values))


async def keep_usage(database: Database, identifier: str) -> None:
    """Keep that an assistant answered once."""
    values = {column.name: 1 for column in usage.c} | {"connector": "openai", "model": "m"}
    async with database.writing() as connection:
        query = insert(usage).values(values | {"assistant_id": int(identifier)})
        await connection.execute(query)


async def keep_many(database: Database, rows: list[dict[str, object]]) -> None:
    """Keep many rows of the organisation `uni` at once, each with at least a name."""
    organization = await keep_organization(database, "uni")
    common: dict[str, object] = {
        "organization_id": organization,
        "owner": "ada@uni.example",
        "metadata": TEXT,
        "rag_top_k": 5,
        "rag_collections": "4, 7",
        "created_at": 1,
        "updated_at": 1,
    }
    async with database.writing() as connection:
        await connection.execute(insert(assistants), [common | row for row in rows])


async def kept(database: Database, identifier: str) -> Row[Any]:
    """Return a row."""
    query = select(assistants).where(assistants.c.id == int(identifier))
    async with database.reading() as connection:
        return (await connection.execute(query)).one()


async def original(database: Database, identifier: str) -> Row[Any] | None:
    """Return what is kept beside a row."""
    query = select(originals).where(originals.c.assistant_id == int(identifier))
    async with database.reading() as connection:
        return (await connection.execute(query)).one_or_none()


async def everything(database: Database) -> list[Row[Any]]:
    """Return all rows, and all that is kept beside them."""
    async with database.reading() as connection:
        rows = (await connection.execute(select(assistants).order_by(assistants.c.id))).all()
        beside = select(originals).order_by(originals.c.assistant_id)
        others = [select(each).order_by(each.c.id) for each in (rubrics, prompts)]
        queries = (beside, *others)
        return [*rows, *[row for each in queries for row in await connection.execute(each)]]
