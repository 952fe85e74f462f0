"""Databases of older versions of LAMB, and of other names."""

from pathlib import Path

import pytest
from heddle_assistants.database.schema import assistants, organizations, users
from heddle_migration_service.lamb import UNASSIGNED, LambDatabaseError
from heddle_runtime.storage.database.engine import Database
from migration.lamb.lamb_database import ASSISTANTS, NOW, PUBLISH, TODAY, Lamb, filled
from migration.lamb.running import rows, run

OWN_PUBLICATION = ASSISTANTS.replace(
    "updated_at INTEGER NOT NULL, UNIQUE",
    "updated_at INTEGER NOT NULL, published BOOLEAN DEFAULT FALSE, published_at INTEGER,"
    " group_id TEXT, group_name TEXT, oauth_consumer_name TEXT, UNIQUE",
)
SEVERAL_PUBLICATIONS = """(
    id INTEGER PRIMARY KEY AUTOINCREMENT, assistant_id INTEGER NOT NULL, assistant_name TEXT,
    assistant_owner TEXT, group_id TEXT, group_name TEXT, oauth_consumer_name TEXT,
    created_at INTEGER, UNIQUE (assistant_id, group_id))"""
OLDEST = """(
    ID INTEGER PRIMARY KEY, NAME TEXT, OWNER TEXT, API_CALLBACK TEXT, rag_top_k INTEGER)"""
ONE = {"id": 1, "name": "a"}


def of(path: Path, **tables: str) -> Lamb:
    """Make a database of some tables, with one organisation."""
    lamb = Lamb(path / "lamb_v4.db").make({"organizations": TODAY["organizations"], **tables})
    return lamb.add("organizations", {"id": 1, "slug": "lamb"})


async def test_publication_in_the_table_of_assistants_counts_where_there_is_no_other(
    database: Database, tmp_path: Path
) -> None:
    lamb = of(tmp_path, assistants=OWN_PUBLICATION)
    lamb.add(
        "assistants",
        ONE | {"published": 1, "published_at": NOW, "oauth_consumer_name": "c", "group_id": "g"},
        {"id": 2, "name": "b", "published": "false", "published_at": NOW},
        {"id": 3, "name": "c", "published": "TRUE", "oauth_consumer_name": "null"},
    )

    await run(lamb, database)

    found = await rows(database, assistants)
    names = ("published", "published_at", "oauth_consumer_name", "group_id")
    assert {key: tuple(found[key][name] for name in names) for key in found} == {
        1: (True, NOW, "c", "g"),
        2: (False, None, None, None),
        3: (True, None, None, None),
    }


async def test_what_lamb_unpublished_since_is_not_published(
    database: Database, tmp_path: Path
) -> None:
    lamb = of(tmp_path, assistants=OWN_PUBLICATION, assistant_publish=PUBLISH)
    lamb.add("assistants", ONE | {"published": 1, "oauth_consumer_name": "old"})

    await run(lamb, database)

    assert (await rows(database, assistants))[1]["published"] is False


async def test_one_of_several_publications_is_enough(database: Database, tmp_path: Path) -> None:
    lamb = of(tmp_path, assistants=ASSISTANTS, assistant_publish=SEVERAL_PUBLICATIONS)
    lamb.add("assistants", ONE)
    for group, consumer in (("g1", "null"), ("g2", "c2"), ("g3", None)):
        publication = {"assistant_id": 1, "group_id": group, "oauth_consumer_name": consumer}
        lamb.add("assistant_publish", publication)

    await run(lamb, database)

    kept = (await rows(database, assistants))[1]
    assert (kept["published"], kept["group_id"], kept["oauth_consumer_name"]) == (True, "g2", "c2")


async def test_a_database_from_before_organisations_is_read(
    database: Database, tmp_path: Path
) -> None:
    lamb = Lamb(tmp_path / "lamb_v4.db").make({"assistants": OLDEST})
    lamb.add("assistants", {"id": 3, "name": "a", "owner": "o", "rag_top_k": 5})

    report = await run(lamb, database)

    kept = (await rows(database, assistants))[3]
    home = (await rows(database, organizations))[kept["organization_id"]]
    assert (kept["name"], kept["rag_top_k"], home["slug"]) == ("a", 5, UNASSIGNED)
    assert report.counts["Creator_users"] == (0, 0, 0, 0)


async def test_users_of_older_databases_are_enabled_creators(
    database: Database, tmp_path: Path
) -> None:
    older = "(id INTEGER PRIMARY KEY, organization_id INTEGER, user_email TEXT, user_name TEXT)"
    lamb = of(tmp_path, assistants=ASSISTANTS, Creator_users=older)
    lamb.add("Creator_users", {"id": 1, "user_email": "ana@example.org"})

    await run(lamb, database)

    kept = (await rows(database, users))[1]
    assert (kept["role"], kept["enabled"]) == ("creator", True)


@pytest.mark.parametrize("prefix", ["", "lamb_v4_", "it's; "])
@pytest.mark.parametrize("told", [True, False])
async def test_tables_of_any_prefix_are_found(
    database: Database, tmp_path: Path, prefix: str, *, told: bool
) -> None:
    lamb = Lamb(tmp_path / "lamb_v4.db", prefix).make()
    lamb.add("organizations", {"id": 1, "slug": "lamb"}).add("assistants", ONE)

    report = await run(lamb, database, prefix=prefix if told else None)

    assert report.counts["assistants"] == (1, 1, 0, 0)


async def test_of_two_sets_of_tables_the_operator_names_one(
    database: Database, tmp_path: Path
) -> None:
    lamb = filled(tmp_path / "lamb_v4.db")
    Lamb(lamb.path, "OLD_").make()

    with pytest.raises(LambDatabaseError, match=r"'LAMB_assistants', 'OLD_assistants'"):
        await run(lamb, database)
    with pytest.raises(LambDatabaseError, match=r"a table 'X_assistants'.*LAMB_DB_PREFIX"):
        await run(lamb, database, prefix="X_")
    assert (await run(lamb, database, prefix="OLD_")).counts["assistants"] == (0, 0, 0, 0)


async def test_another_programs_database_is_refused(database: Database, tmp_path: Path) -> None:
    other = Lamb(tmp_path / "lamb_v4.db", "").make({"assistants": "(id INTEGER, name TEXT)"})

    with pytest.raises(LambDatabaseError, match="finds nothing like it"):
        await run(other, database)
