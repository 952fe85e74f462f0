"""`heddle compare-lamb` between a Heddle and a LAMB that shows its prompts."""

import json
from pathlib import Path

import pytest
from cli.lamb_stand_in import TOKEN, lamb_with_prompts
from cli.test_whole import finish, start
from heddle_migration_service.commands.lamb_comparison import (
    FAILED,
    HOSTS,
    INJECTED,
    NOTES,
    PARENTS,
    SOURCES,
    SPACE,
    Turn,
    compare,
    debugged,
)
from heddle_runtime.http.egress import SETTING
from integration.provider import providing
from integration.whole import whole
from knowledge.kb_server import hit, kb_server
from knowledge.store_server import Store, store_server
from migration.lamb.lamb_database import NEWEST, Lamb

SIMPLE = {"prompt_processor": "simple_augment", "connector": "openai", "llm": "gpt-4o-mini"}
TEMPLATE = r"Solve \frac{a}{b} for {name}: {user_input}" + "\n{context}"


async def test_equal_prompts_are_equal_and_others_are_explained_or_flagged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lamb = Lamb(tmp_path / "lamb_v4.db").make()
    async with providing() as provider, kb_server() as knowledge:
        openai = {"base_url": provider.url, "api_key": "sk-test", "models": ["gpt-4o-mini"]}
        servers = {"kb_server": {"url": knowledge.url, "token": "kb-token"}}
        config = {"setups": {"default": {"providers": {"openai": openai}}}, **servers}
        knowledge.answers = {"17": {"results": [hit("A shed is a gap.")]}}
        lamb.add("organizations", {"id": 1, "slug": "uni", "config": json.dumps(config)})
        lamb.add("Creator_users", {"id": 1, "user_email": "ana@example.org"})
        rows = {
            1: {**SIMPLE, "rag_processor": "no_rag"},
            2: {**SIMPLE, "rag_processor": ""},
            3: {**SIMPLE, "rag_processor": "simple_rag"},
        }
        for number, metadata in rows.items():
            lamb.add(
                "assistants",
                {
                    "id": number,
                    "name": f"1_{number}",
                    "prompt_template": TEMPLATE,
                    "system_prompt": "You help.",
                    "api_callback": json.dumps(metadata),
                    "RAG_collections": "17",
                },
            )
        lamb.add("kb_registry", {"kb_id": "17", "kb_name": "Optics"})
        monkeypatch.setenv("HEDDLE_MIGRATION_LAMB_DATABASE", str(lamb.path))
        monkeypatch.setenv(SETTING, "127.0.0.0/8")
        passages = {3: "Something else."}
        async with (
            whole(tmp_path) as running,
            lamb_with_prompts(lamb.path, passages) as url,
        ):
            token = tmp_path / "token.txt"
            token.write_text(f"{TOKEN}\n")
            of_lamb = ("--lamb-url", url, "--lamb-token-file", str(token))
            assert (await finish(await start(running, "import-lamb")))[0] == 0
            arguments = ("compare-lamb", "1", "3", "-q", "Why {context}?", "-q", "Why?", *of_lamb)
            code, out, notes = await finish(await start(running, *arguments, "--json"))
            shown = await finish(
                await start(
                    running, "compare-lamb", "1", "-q", "Why?", "--prompts", "--answers", *of_lamb
                )
            )
            token.write_text("wrong")
            refused = await finish(
                await start(running, "compare-lamb", "1", "-q", "Why?", *of_lamb)
            )

    assert code == 1, notes
    records = {
        (each["assistant"], each["question"]): each for each in map(json.loads, out.splitlines())
    }
    assert {key: record["outcome"] for key, record in records.items()} == {
        ("1", "Why {context}?"): "explained",
        ("1", "Why?"): "equal",
        ("3", "Why {context}?"): "flagged",
        ("3", "Why?"): "flagged",
    }
    assert records["1", "Why {context}?"]["explanation"] == INJECTED
    assert "-Something else." in records["3", "Why?"]["difference"]
    assert "+A shed is a gap." in records["3", "Why?"]["difference"]
    # Only `--answers` asks a model.
    assert len(provider.bodies) == 1
    assert shown[0] == 0
    assert "--- LAMB\n[system]\nYou help.\n[user]\nSolve \\frac{a}{b} for {name}: " in shown[1]
    assert "--- Answer of LAMB\nAn answer of LAMB.\n--- " in shown[1]
    assert refused[0] == 1
    assert "LAMB answers 401" in refused[1]


@pytest.mark.exhaustive
async def test_prompts_with_a_knowledge_store_differ_in_their_sources_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lamb = Lamb(tmp_path / "lamb_v4.db").make(NEWEST)
    weaving = Store(("A shed is a gap.",), "sk-uni-test", "", {"source_title": "Weaving"})
    async with providing() as provider, store_server(physics=weaving) as server:
        openai = {"base_url": provider.url, "api_key": "sk-uni-test", "models": ["gpt-4o-mini"]}
        store = {"server_url": server.url, "api_token": server.token}
        setup = {"providers": {"openai": openai}, "knowledge_store": store}
        config = json.dumps({"setups": {"default": setup}})
        lamb.add("organizations", {"id": 1, "slug": "uni", "config": config})
        lamb.add("Creator_users", {"id": 1, "user_email": "ana@example.org"})
        lamb.add("knowledge_stores", {"id": "physics", "name": "Physics"})
        metadata = {**SIMPLE, "rag_processor": "knowledge_store_rag"}
        row = {"id": 1, "name": "1_a", "prompt_template": TEMPLATE, "system_prompt": "You help."}
        row |= {"api_callback": json.dumps(metadata), "RAG_collections": "physics"}
        lamb.add("assistants", row)
        monkeypatch.setenv("HEDDLE_MIGRATION_LAMB_DATABASE", str(lamb.path))
        monkeypatch.setenv(SETTING, "127.0.0.0/8")
        sources = "\n\n## Available Sources\n\n1. [Weaving](/docs/1) (similarity: 0.000)\n"
        async with (
            whole(tmp_path) as running,
            lamb_with_prompts(lamb.path, {1: f"A shed is a gap.{sources}"}) as url,
        ):
            token = tmp_path / "token.txt"
            token.write_text(TOKEN)
            assert (await finish(await start(running, "import-lamb")))[0] == 0
            of_lamb = ("--lamb-url", url, "--lamb-token-file", str(token), "--json")
            code, out, notes = await finish(
                await start(running, "compare-lamb", "1", "-q", "Why?", *of_lamb)
            )
    assert code == 0, notes
    record = json.loads(out)
    assert record["outcome"] == "explained", record
    assert record["explanation"] == SOURCES
    assert server.keys == ["sk-uni-test"]


def user(text: str) -> list[Turn]:
    return [Turn("user", text)]


@pytest.mark.parametrize(
    ("lamb", "heddle", "explanation"),
    [
        (user("a\n\n b"), user("a b"), SPACE),
        (
            user("x\n\n## Available Sources\n\n1. [a](http://l/a) (similarity: 0.500)\n\n\ny"),
            user("x\n\n## Available Sources\n\n1. [a](http://h/a) (similarity: 0.700)\n\n\ny"),
            SOURCES,
        ),
        (
            [Turn("system", "s"), *user("q")],
            [Turn("system", "s\n\n[The tool x failed.]"), *user("q")],
            NOTES,
        ),
        (
            user("x [a](http://kb:9090http://kb:9090/static/a) y"),
            user("x [a](http://kb:9090/static/a) y"),
            HOSTS,
        ),
        (
            user("a section\n\nits end\n\na section\n\nits end\n\nq"),
            user("a section\n\nits end\n\nq"),
            PARENTS,
        ),
        (
            user("c\n\nNo RAG collections specified in the assistant configuration\n\nq"),
            user(
                "c\n\n[The tool simple_rag failed: No collections. Its result is not available.]"
                "\n\nq"
            ),
            FAILED,
        ),
        (
            user("p\n\np\n\n## Available Sources\n\n1. [a](http://l/a) (similarity: 0.500)\n\n\nq"),
            user("p\n\n## Available Sources\n\n1. [a](http://h/a) (similarity: 0.700)\n\n\nq"),
            f"{SOURCES} {PARENTS}",
        ),
        (
            user("the content of a file\n\nq"),
            user("[The tool single_file failed: No file. Its result is not available.]\n\nq"),
            "",
        ),
        (user("a"), user("b"), ""),
        (user("a"), [Turn("system", "s"), *user("a")], ""),
        (user("\n\nsee FOUND now\n\n"), user("\n\nsee {context} now\n\n"), INJECTED),
    ],
)
def test_differences_have_their_explanations(
    lamb: list[Turn], heddle: list[Turn], explanation: str
) -> None:
    comparison = compare(lamb, heddle, "see {context} now")

    assert (comparison.explanation, comparison.flagged) == (explanation, not explanation)
    assert comparison.difference


def test_equal_prompts_have_no_difference() -> None:
    comparison = compare(user("a"), user("a"), "a")

    assert (comparison.equal, comparison.flagged, comparison.difference) == (True, False, "")


@pytest.mark.parametrize("answer", ["Hello", "Messages:\nno JSON", ""])
def test_an_answer_of_a_model_is_no_prompt(answer: str) -> None:
    assert debugged(answer) is None
