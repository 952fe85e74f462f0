"""`ResolveSettings` over real gRPC."""

import json

import pytest
from assistants.accounts.conftest import ANN, SERVICE, Accounts, serving
from assistants.stored import keep_user
from heddle.account.v1 import account_pb2 as pb
from heddle_assistants.database.schema import organizations
from heddle_runtime.errors import InvalidRequestError, UnavailableError
from heddle_runtime.storage.database.engine import Database, open_database
from sqlalchemy import select, update

SETTINGS = {
    "setups": {"default": {"providers": {"openai": {"api_key": "own-key-of-uni"}}}},
    "embedding_model": "multilingual-e5-small-q4",
    "reranking_model": "bge-reranker",
    "kb_server": {"url": "http://kb.uni.example", "api_key": "kb-key-of-uni"},
}
SYSTEM = {
    "setups": {
        "default": {
            "providers": {"openai": {"api_key": "system-key"}, "ollama": {"api_key": "system-too"}},
            "knowledge_base": {"server_url": "http://system-kb", "api_token": "system-kb-key"},
            "global_default_model": {"provider": "ollama", "model": "llama"},
            "small_fast_model": {"provider": "openai", "model": "gpt-4o-mini"},
        }
    },
}


async def test_an_owner_gets_what_the_organisation_has_set_up(accounts: Accounts) -> None:
    await accounts.replace("uni", json.dumps(SETTINGS))
    found = await accounts.settings(owner=ANN.subject)
    assert found.organization == "uni"
    assert found.providers["openai"].api_key == "own-key-of-uni"
    assert (found.knowledge.url, found.knowledge.token) == (
        "http://kb.uni.example",
        "kb-key-of-uni",
    )
    for name in ("embedding_model", "reranking_model"):
        assert getattr(found, name) == SETTINGS[name]
    assert found.HasField("user_id")
    found.ClearField("user_id")
    assert found == await accounts.settings(organization="uni")


async def test_only_a_user_has_a_number(accounts: Accounts, rows: Database) -> None:
    await keep_user(rows, "from-lamb@uni.example", "uni", 17)
    found = await accounts.settings(owner="from-lamb@uni.example")
    assert (found.organization, found.user_id) == ("uni", 17)
    for whose in ({"organization": "uni"}, {"owner": "nobody@uni.example"}):
        assert not (await accounts.settings(**whose)).HasField("user_id")
    async with rows.writing() as connection:
        await connection.execute(update(organizations).values(status="suspended"))
    assert not (await accounts.settings(owner="from-lamb@uni.example")).HasField("user_id")


async def test_nobody_gets_the_systems_secrets_by_leaving_a_field_empty(
    accounts: Accounts,
) -> None:
    await accounts.replace("default", json.dumps(SYSTEM))
    await accounts.replace("uni", json.dumps(SETTINGS))
    uni, evil = [await accounts.settings(organization=slug) for slug in ("uni", "evil")]
    assert "system" not in str(uni) + str(evil)
    assert (uni.default_model, uni.small_model) == ("", "openai/gpt-4o-mini")
    assert (evil.default_model, evil.small_model) == ("", "")
    own = await accounts.settings(organization="default")
    assert own.providers["ollama"].api_key == "system-too"
    assert (own.system, uni.system, evil.system) == (True, False, False)


async def test_the_system_of_a_lamb_installation_is_the_operators(
    accounts: Accounts, rows: Database
) -> None:
    await accounts.put("lamb", json.dumps(SYSTEM))
    await accounts.replace("default", '{"kb_server": {"url": "http://default"}}')
    async with rows.writing() as connection:
        lamb = organizations.c.slug == "lamb"
        await connection.execute(update(organizations).where(lamb).values(is_system=True))
    assert (await accounts.settings(organization="lamb")).system
    await accounts.replace("uni", json.dumps(SETTINGS))
    assert (await accounts.settings(organization="uni")).small_model == "openai/gpt-4o-mini"


async def test_nobodys_settings_are_empty_and_tell_nothing(
    accounts: Accounts, rows: Database
) -> None:
    await accounts.replace("uni", json.dumps(SETTINGS))
    async with rows.writing() as connection:
        uni = organizations.c.slug == "uni"
        await connection.execute(update(organizations).where(uni).values(status="suspended"))
    found = [
        await accounts.settings(owner=ANN.subject),
        await accounts.settings(owner="nobody@uni.example"),
        await accounts.settings(owner="deleted_assistant@owi.com"),
        await accounts.settings(organization="uni"),
        await accounts.settings(organization="nowhere"),
    ]
    assert found == [found[0]] * 5
    assert found[0] == pb.ResolveSettingsResponse(etag=found[0].etag)


async def test_one_has_to_say_whose(accounts: Accounts) -> None:
    with pytest.raises(InvalidRequestError):
        await accounts.call("ResolveSettings", pb.ResolveSettingsRequest(), SERVICE)


async def test_a_secret_that_is_copied_elsewhere_does_not_open(
    accounts: Accounts, rows: Database
) -> None:
    await accounts.replace("uni", json.dumps(SETTINGS))
    async with rows.writing() as connection:
        of = organizations.c.slug
        stolen = await connection.scalar(select(organizations.c.config).where(of == "uni"))
        await connection.execute(update(organizations).where(of == "evil").values(config=stolen))
    with pytest.raises(UnavailableError, match="HEDDLE_ASSISTANTS_ENCRYPTION_KEY") as caught:
        await accounts.settings(organization="evil")
    assert "own-key-of-uni" not in str(caught.value)


async def test_a_sealed_text_that_is_given_is_a_text_like_any_other(
    accounts: Accounts, rows: Database
) -> None:
    await accounts.replace("uni", json.dumps(SETTINGS))
    async with rows.reading() as connection:
        query = select(organizations.c.config).where(organizations.c.slug == "uni")
        sealed = json.loads(str(await connection.scalar(query)))["kb_server"]["api_key"]
    given = {"kb_server": {"url": "https://kb.uni.example", "api_key": sealed}}
    await accounts.replace("uni", json.dumps(given))
    assert (await accounts.settings(organization="uni")).knowledge.token == sealed


OLD, NEW = "old-key-of-at-least-32-characters", "new-key-of-at-least-32-characters"


async def test_an_old_encryption_key_can_be_given_up_after_one_start_with_both(
    database_url: str,
) -> None:
    async with serving(database_url, encryption_key=OLD) as accounts:
        await accounts.put("uni", json.dumps(SETTINGS))
    async with serving(database_url, encryption_key=f"{NEW}, {OLD}") as accounts:
        assert (await accounts.settings(organization="uni")).knowledge.token == "kb-key-of-uni"
    async with serving(database_url, encryption_key=NEW) as accounts:
        assert (await accounts.settings(organization="uni")).knowledge.token == "kb-key-of-uni"
    with pytest.raises(ValueError, match="HEDDLE_ASSISTANTS_ENCRYPTION_KEY"):
        async with serving(database_url, encryption_key=OLD):
            pass
    async with serving(database_url, encryption_key=OLD, secrets_lost=True) as accounts:
        with pytest.raises(UnavailableError):
            await accounts.settings(organization="uni")
        # Who lost the key can still set up everything anew.
        with pytest.raises(InvalidRequestError, match="not valid"):
            await accounts.replace("uni", '{"kb_server": {"api_key": "********"}}')
        await accounts.replace("uni", '{"kb_server": {"url": "http://a", "api_key": "b"}}')
        assert (await accounts.settings(organization="uni")).knowledge.token == "b"


async def test_a_start_seals_what_came_in_plain(database_url: str) -> None:
    async with serving(database_url) as accounts:
        await accounts.put("uni")
        async with open_database(database_url) as database, database.writing() as connection:
            await connection.execute(update(organizations).values(config=json.dumps(SETTINGS)))
        assert "kb-key" not in (await accounts.organization("uni")).organization.settings_json
        assert (await accounts.settings(organization="uni")).knowledge.token == "kb-key-of-uni"
    async with serving(database_url) as accounts:
        async with open_database(database_url) as database, database.reading() as connection:
            assert "kb-key" not in str(await connection.scalar(select(organizations.c.config)))
        assert (await accounts.settings(organization="uni")).knowledge.token == "kb-key-of-uni"
