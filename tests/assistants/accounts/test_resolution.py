"""How LAMB's form of settings is read."""

from typing import Any

import pytest
from heddle.account.v1 import account_pb2 as pb
from heddle_assistants.accounts.resolution import resolved
from hypothesis import given
from hypothesis import strategies as st


def default(**setup: Any) -> dict[str, Any]:
    return {"setups": {"default": setup}}


SYSTEM = {
    **default(
        providers={
            "openai": {"api_key": "system-key", "base_url": "https://system", "models": ["gpt-4"]}
        },
        knowledge_base={"server_url": "http://system-kb", "api_token": "system-token"},
        global_default_model={"provider": "openai", "model": "gpt-4"},
        small_fast_model={"provider": "local", "model": "tiny"},
    ),
    "kb_server": {"url": "http://system-kb", "api_key": "system-token"},
    "moodle": {"url": "http://system-moodle", "token": "system-token"},
}


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        (
            {"api_key": "k", "base_url": "http://a/v1/", "models": ["a", "b"], "enabled": True},
            pb.Provider(base_url="http://a/v1", api_key="k", models=["a", "b"], enabled=True),
        ),
        (
            {"api_key": " k ", "models": "a, b,,"},
            pb.Provider(api_key="k", models=["a", "b"], enabled=True),
        ),
        ({"base_url": "http://a", "enabled": "false"}, pb.Provider(base_url="http://a")),
        ({"base_url": "http://a", "enabled": 0}, pb.Provider(base_url="http://a")),
        ({"enabled": "True", "default_model": "m"}, pb.Provider(default_model="m", enabled=True)),
        (
            {"api_key": 12345, "models": {"a": {}}},
            pb.Provider(api_key="12345", models=["a"], enabled=True),
        ),
        ({"api_key": None, "models": None, "base_url": ["x"]}, pb.Provider(enabled=True)),
        ({"api_key": True, "models": [1, None, "a"]}, pb.Provider(models=["a"], enabled=True)),
    ],
)
def test_a_provider_is_read_however_people_wrote_it(provider: Any, expected: pb.Provider) -> None:
    found = resolved("uni", default(providers={"openai": provider}), {})
    assert found.providers["openai"] == expected


@pytest.mark.parametrize(
    ("config", "url", "token"),
    [
        (default(knowledge_base={"server_url": "http://kb/", "api_token": "t"}), "http://kb", "t"),
        (default(knowledge_base={"url": "http://kb", "api_key": "t"}), "http://kb", "t"),
        ({"kb_server": {"url": "http://kb", "token": "t"}}, "http://kb", "t"),
        (
            {
                **default(knowledge_base={"server_url": "http://old", "api_token": "old"}),
                "kb_server": {"server_url": "http://kb", "api_token": "t", "embedding_model": "m"},
            },
            "http://kb",
            "t",
        ),
        ({"kb_server": {"url": "http://kb", "port": "3"}}, "http://kb", ""),
    ],
)
def test_both_ways_to_name_a_knowledge_server_are_read(config: Any, url: str, token: str) -> None:
    assert resolved("uni", config, {}).knowledge == pb.KnowledgeServer(url=url, token=token)


@pytest.mark.parametrize(
    "config",
    [
        default(knowledge_store={"server_url": "http://ks/", "api_token": "t"}),
        default(knowledge_store={"url": "http://ks", "api_key": "t"}),
        {"knowledge_store": {"server_url": "http://ks", "token": "t"}},
    ],
)
def test_the_server_of_knowledge_stores_is_one_of_its_own(config: Any) -> None:
    answer = resolved("uni", config, {})
    assert answer.knowledge_store == pb.KnowledgeServer(url="http://ks", token="t")
    assert not answer.HasField("knowledge")
    assert not resolved("uni", config, {}, reaching=False).HasField("knowledge_store")


def test_no_organisation_has_the_store_server_of_the_system() -> None:
    system = default(knowledge_store={"server_url": "http://ks", "api_token": "t"})
    assert not resolved("uni", {}, system).HasField("knowledge_store")


def test_moodle_is_read() -> None:
    found = resolved("uni", {"moodle": {"api_url": "http://m/", "wstoken": "t"}}, {})
    assert found.moodle == pb.Moodle(url="http://m", token="t")


def test_pins_of_mcp_servers_are_read_if_they_have_the_form_of_one() -> None:
    pins = {"find": f"sha256:{'0' * 64}", "tell": "md5:1", "show": 5}
    config = {
        "mcp_servers": {"a": {"url": "https://a", "pins": pins}, "b": {"url": "b", "pins": 5}}
    }
    servers = resolved("uni", config, {}).mcp_servers
    assert dict(servers["a"].pins) == {"find": pins["find"]}
    assert not servers["b"].pins


def test_what_opens_mcp_servers_is_read() -> None:
    library = {"url": "https://lib/mcp/", "token": "t"}
    config = {**default(mcp_servers={"old": library}), "mcp_servers": {"lib": library, "x": 5}}
    found = resolved("uni", config, {})
    server = pb.McpServer(url="https://lib/mcp", token="t")
    assert dict(found.mcp_servers) == {"old": server, "lib": server}
    assert not resolved("uni", config, {}, reaching=False).mcp_servers
    assert not resolved("uni", {}, config).mcp_servers


def test_every_member_may_stand_beside_setups_and_comes_first_there() -> None:
    model = {"provider": "openai", "model": "gpt-4o"}
    inner: dict[str, Any] = {
        "providers": {"tavily": {"api_key": "old"}, "brave": {"api_key": "b"}},
        "knowledge_base": {"url": "http://old"},
        "small_fast_model": {"provider": "ollama", "model": "old"},
    }
    outer: dict[str, Any] = {
        "providers": {"tavily": {"api_key": "new"}},
        "knowledge_base": {"url": "http://kb"},
        "global_default_model": model,
        "small_fast_model": model,
    }
    resolution = resolved("uni", {**default(**inner), **outer}, {})
    assert {name: each.api_key for name, each in resolution.providers.items()} == {
        "tavily": "new",
        "brave": "b",
    }
    assert resolution.knowledge.url == "http://kb"
    assert resolution.default_model == resolution.small_model == "openai/gpt-4o"


def test_what_is_not_set_up_is_not_there() -> None:
    found = resolved("uni", default(knowledge_base={"api_token": "t"}, providers={"x": {}}), {})
    assert not found.HasField("knowledge")
    assert not found.HasField("moodle")
    assert not found.providers


def test_models_are_named_with_their_provider() -> None:
    setup = {
        "global_default_model": {"provider": "openai", "model": "gpt-4o"},
        "small_fast_model": {"provider": "ollama", "model": "a/b"},
    }
    found = resolved("uni", default(**setup), SYSTEM)
    assert (found.default_model, found.small_model) == ("openai/gpt-4o", "ollama/a/b")


def test_an_empty_field_spends_nothing_of_the_system() -> None:
    found = resolved("uni", {}, SYSTEM)
    assert found.small_model == "local/tiny"
    assert found.default_model == ""  # the system would pay for it
    assert not found.providers
    assert "system" not in str(found)


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ({"api_key": "own"}, "openai/gpt-4"),
        ({"api_key": "own", "models": ["gpt-4"]}, "openai/gpt-4"),
        ({"api_key": "own", "models": ["other"]}, ""),
        ({"api_key": "own", "enabled": False}, ""),
    ],
)
def test_the_systems_model_serves_who_has_the_provider_himself(
    provider: Any, expected: str
) -> None:
    found = resolved("uni", default(providers={"openai": provider}), SYSTEM)
    assert found.default_model == expected
    assert found.providers["openai"].api_key == "own"


def test_lambs_google_is_the_connector_of_pictures_unless_that_is_set_up_itself() -> None:
    lambs, own = {"google": {"api_key": "g"}}, {"banana_img": {"api_key": "b"}}
    found = resolved("uni", default(providers=lambs), {})
    assert {name: p.api_key for name, p in found.providers.items()} == {"banana_img": "g"}
    for both in ({**lambs, **own}, {**own, **lambs}):
        found = resolved("uni", default(providers=both), {})
        assert {name: p.api_key for name, p in found.providers.items()} == {"banana_img": "b"}


def test_the_etag_changes_with_what_is_set_up() -> None:
    one, same = (resolved("uni", default(providers={"a": {"api_key": "k"}}), {}) for _ in range(2))
    other = resolved("uni", default(providers={"a": {"api_key": "l"}}), {})
    assert one.etag == same.etag != other.etag


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = st.sampled_from(
    ["providers", "openai", "api_key", "models", "enabled", "base_url", "knowledge_base", "url"]
)


@given(st.dictionaries(NAMES, st.dictionaries(NAMES, JSON | st.dictionaries(NAMES, JSON))))
def test_nothing_that_json_can_hold_breaks_it(setup: Any) -> None:
    config = {**default(**setup), "kb_server": setup.get("url"), "moodle": setup.get("openai")}
    assert resolved("uni", config, config).organization == "uni"
