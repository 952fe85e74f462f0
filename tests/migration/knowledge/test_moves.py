"""Which organisations of LAMB store new collections in Heddle."""

import json
from pathlib import Path

import pytest
from heddle_migration_service.knowledge.moves import COLLECTIONS, LEFT, MOVED, SERVERS
from heddle_migration_service.knowledge_server.numbers import is_heddles, number_of
from migration.knowledge.importing import importing
from migration.knowledge.lamb_kb_server import TOKEN, LambKbServer, lamb_kb_server
from migration.lamb.lamb_database import Lamb

NETWORK = {"HEDDLE_ALLOWED_PRIVATE_NETWORKS": "127.0.0.0/8"}


def use(lamb: Lamb, server: LambKbServer) -> None:
    """Let the organisation of Bo use a server."""
    config = json.dumps({"kb_server": {"url": server.url, "api_key": TOKEN}})
    with lamb.open() as connection:
        connection.execute("UPDATE LAMB_organizations SET config = ? WHERE id = 7", (config,))
        connection.commit()


async def test_an_organisation_is_listed_until_its_new_collections_come_to_heddle(
    tmp_path: Path, lamb: Lamb, kb: LambKbServer
) -> None:
    use(lamb, kb)
    async with importing(tmp_path, lamb, kb.url, TOKEN, **NETWORK) as heddle:
        before = await heddle.run()
        assert "reads the address from kb_server.url " in before.notes(SERVERS, "physics")
        assert "LAMB_KB_SERVER" in before.notes(SERVERS, "lamb")
        async with lamb_kb_server() as this:
            this.vendor = "heddle"
            this.add(17, "optics", "3")
            use(lamb, this)
            after = await heddle.run(dry_run=True)
            assert after.notes(SERVERS, "physics") == MOVED
            assert "LAMB_KB_SERVER" in after.notes(SERVERS, "lamb")
            assert after.counts[COLLECTIONS][1] == 0
            kb.add(18, "late", "3")
            late = await heddle.run(dry_run=True)
            assert late.notes(COLLECTIONS, 18) == LEFT
            await heddle.run()
            assert "18" not in (await heddle.run(dry_run=True)).findings[COLLECTIONS]


async def test_the_setting_that_lamb_reads_first_is_named(
    tmp_path: Path, lamb: Lamb, kb: LambKbServer
) -> None:
    """What LAMB's settings page stores has no effect beside the settings of a new organisation."""
    first = {"server_url": kb.url, "api_token": TOKEN}
    second = {"url": "http://heddle.example", "api_key": "hk_1"}
    config = {"setups": {"default": {"knowledge_base": first}}, "kb_server": second}
    with lamb.open() as connection:
        values = (json.dumps(config),)
        connection.execute("UPDATE LAMB_organizations SET config = ? WHERE id = 7", values)
        connection.commit()
    async with importing(tmp_path, lamb, kb.url, TOKEN, **NETWORK) as heddle:
        note = (await heddle.run(dry_run=True)).notes(SERVERS, "physics")
    assert "setups.default.knowledge_base.server_url" in note
    assert "/creator/admin/organizations/physics/config" in note


async def test_organisations_that_name_the_same_server_share_it(
    tmp_path: Path, lamb: Lamb, kb: LambKbServer
) -> None:
    """LAMB copies the server of the system into the settings of new organisations."""
    use(lamb, kb)
    with lamb.open() as connection:
        connection.execute(
            "UPDATE LAMB_organizations SET config = (SELECT config FROM "
            "LAMB_organizations WHERE id = 7), is_system = (id != 7)"
        )
        connection.commit()
    async with importing(tmp_path, lamb, "", **NETWORK) as heddle:
        report = await heddle.run(dry_run=True)
    reasons = [each.error.message for each in report.findings[COLLECTIONS].values()]
    assert not [each for each in reasons if "owner '1'" in each or "owner '3'" in each]


@pytest.mark.parametrize("name", ["vs_" + "0" * 32, "file-" + "f" * 32, "doc_" + "8" * 32])
def test_numbers_are_exact_in_javascript_and_no_numbers_of_lamb(name: str) -> None:
    assert 2**52 <= number_of(name) < 2**53
    assert is_heddles(str(number_of(name)))
    assert not is_heddles("17")
    assert not is_heddles(str(2**52 - 1))
