"""What the tables keep, and what they refuse."""

import pytest
from assistants.database.rows import add_assistant
from heddle_assistants.database.schema import api_keys, assistants, originals, users
from heddle_runtime.storage.database.engine import Database
from heddle_runtime.storage.database.identities import continue_after_explicit_ids
from sqlalchemy import ColumnElement, delete, insert, select, text
from sqlalchemy.exc import IntegrityError

PAGES = {
    "all": assistants.c.id > 0,
    "an organization's": assistants.c.organization_id == 1,
    "an organization's published": (assistants.c.organization_id == 1)
    & assistants.c.published.is_(True),
    "an owner's": assistants.c.owner == "ada@uni.example",
    "of a name": assistants.c.name == "a",
}


@pytest.mark.parametrize("value", [3, "3", None, 2.5, "", "five", 2**53 + 1, True], ids=repr)
async def test_top_k_comes_back_as_it_came(filled: Database, value: object) -> None:
    identifier = await add_assistant(filled, name="b", rag_top_k=value)
    async with filled.reading() as connection:
        query = select(assistants.c.rag_top_k).where(assistants.c.id == identifier)
        found = await connection.scalar(query)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    "document",
    [None, "", "null", '{"a" :1,\r\n\t"a": 2.0, "é": "\\u0000"}  ', "not-json{", "💡" * 70_000],
)
async def test_a_document_comes_back_byte_for_byte(filled: Database, document: str | None) -> None:
    identifier = await add_assistant(filled, name="b", metadata=document)
    async with filled.writing() as connection:
        await connection.execute(
            insert(originals).values(
                assistant_id=identifier,
                metadata=document,
                from_version=1,
                to_version=2,
                migrated="{}",
                created_at=1,
            )
        )
    async with filled.reading() as connection:
        for table, key in ((assistants, assistants.c.id), (originals, originals.c.assistant_id)):
            query = select(table.c.metadata).where(key == identifier)
            assert (await connection.execute(query)).scalar_one() == document


async def test_a_digest_comes_back_as_bytes(filled: Database) -> None:
    digest = bytes(range(256))
    async with filled.writing() as connection:
        await connection.execute(
            insert(api_keys).values(id="k", digest=digest, organization_id=1, created_at=1)
        )
        key = (await connection.execute(select(api_keys))).one()
    assert (key.digest, key.trusted, key.revoked_at) == (digest, False, None)


async def test_the_id_of_a_deleted_assistant_is_not_given_again(filled: Database) -> None:
    gone = await add_assistant(filled, name="b")
    async with filled.writing() as connection:
        await connection.execute(delete(assistants).where(assistants.c.id == gone))
    assert await add_assistant(filled, name="c") > gone


async def test_new_ids_follow_those_that_came_with_their_rows(filled: Database) -> None:
    await add_assistant(filled, name="imported", id=42)
    for _ in range(2):  # the second time nothing is left to do
        async with filled.writing() as connection:
            await continue_after_explicit_ids(connection, assistants)
    assert await add_assistant(filled, name="new") == 43
    async with filled.writing() as connection:
        await continue_after_explicit_ids(connection, users)  # an empty table
    assert await add_assistant(filled, name="newer") == 44


async def test_two_assistants_of_one_owner_have_two_names(filled: Database) -> None:
    await add_assistant(filled, owner="bob@uni.example")
    with pytest.raises(IntegrityError):
        await add_assistant(filled)


async def test_nothing_belongs_to_an_organization_that_is_not_there(filled: Database) -> None:
    with pytest.raises(IntegrityError):
        await add_assistant(filled, organization_id=2)


async def test_a_role_is_one_of_three(filled: Database) -> None:
    query = insert(users).values(organization_id=1, email="e", created_at=1, updated_at=1)
    for role, allowed in {"admin": True, "creator": True, "member": True, "root": False}.items():
        async with filled.writing() as connection:
            await connection.execute(delete(users))
            if allowed:
                await connection.execute(query.values(role=role))
                continue
            with pytest.raises(IntegrityError):
                await connection.execute(query.values(role=role))
            await connection.rollback()


@pytest.mark.parametrize("whose", PAGES)
async def test_a_page_is_read_by_an_index_and_not_sorted(filled: Database, whose: str) -> None:
    where: ColumnElement[bool] = PAGES[whose] & (assistants.c.id > 7)
    page = select(assistants.c.id, assistants.c.title).where(where).order_by(assistants.c.id)
    async with filled.reading() as connection:
        dialect = connection.dialect
        query = page.limit(100).compile(dialect=dialect, compile_kwargs={"literal_binds": True})
        explain = "EXPLAIN"
        if dialect.name == "postgresql":  # which reads small tables as a whole whatever there is
            await connection.execute(text("SET LOCAL enable_seqscan = off"))
            await connection.execute(text("SET LOCAL enable_bitmapscan = off"))
        else:
            explain = "EXPLAIN QUERY PLAN"
        rows = await connection.execute(text(f"{explain} {query}"))
        plan = "\n".join(str(row[-1]) for row in rows)
    assert "Index" in plan or "USING" in plan, plan
    assert not any(word in plan for word in ("SCAN", "Seq Scan", "Sort", "TEMP B-TREE")), plan
