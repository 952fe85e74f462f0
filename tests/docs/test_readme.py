"""The README's examples are the real ones."""

import json
import re
import shutil
from pathlib import Path

import yaml
from docs.shell import run
from heddle_conversion.assistant_json import read_assistant
from integration.whole import Whole, whole
from tools_service.serving import discovered

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_each_tool_of_the_guide_is_a_file_of_under_forty_lines_that_loads() -> None:
    plugins = ROOT / "examples" / "plugins"
    text = (plugins / "glossary.py").read_text()

    assert text in blocks("python")
    assert len(text.splitlines()) < 40
    assert len((plugins / "proverbs.py").read_text().splitlines()) < 40
    assert {"glossary", "proverbs"} <= {tool.name for tool in discovered(plugins)}


def test_the_assistant_of_the_guide_is_one() -> None:
    document, *bindings = blocks("yaml")

    for binding in bindings:
        for tool in yaml.safe_load(binding)["tools"]:
            assert tool["mode"] == "function"
            assert tool["type"] in {each.name for each in discovered(None)}
    assert read_assistant(yaml.safe_load(document)).tools[0].slot == "context"


def test_every_example_is_an_assistant() -> None:
    files = sorted((ROOT / "examples" / "assistants").glob("*.yaml"))

    documents = [read_assistant(yaml.safe_load(f.read_text())) for f in files]

    assert sorted(document.id for document in documents) == list("1234567")


def test_what_the_readme_names_exists() -> None:
    for name in re.findall(r"^\| `([a-z/-]+)/` \|", README, re.MULTILINE):
        assert (ROOT / name).is_dir(), name
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / target.partition("#")[0]).exists(), target


def spoken(stream: str) -> str:
    """Return the text of a streamed answer."""
    chunks = [
        json.loads(line.removeprefix("data: "))
        for line in stream.splitlines()
        if line.startswith("data: {")
    ]
    return "".join(
        choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"]
    )


def at(running: Whole, command: str) -> str:
    """Return a command of the README for the services that run here."""
    places = {
        "http://127.0.0.1:8080": running.url,
        "127.0.0.1:9102": running.stack.tools,
        "127.0.0.1:9105": running.stack.knowledge,
        ".venv/bin/heddle": "heddle",
    }
    for shown, actual in places.items():
        command = command.replace(shown, actual)
    return command


async def test_the_tour_works_as_it_is_written(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path, dirs_exist_ok=True)
    shutil.copy(ROOT / "README.md", tmp_path)
    [curl, create] = [block for block in blocks("sh") if block.startswith("curl")]
    [sdk] = [block for block in blocks("python") if "OpenAI(" in block]
    [operator] = [block for block in blocks("sh") if "heddle chat" in block]
    [folder] = [block for block in blocks("sh") if "--recursive" in block]
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "loom.md").write_text("A loom holds threads.")
    ingest, chat, grpcurl = operator.splitlines()
    [keys] = [block for block in blocks("sh") if "heddle keys" in block]
    organization, key = keys.splitlines()

    async with whole(tmp_path) as running:
        addresses = {
            "HEDDLE_TOOLS_ADDRESS": running.stack.tools,
            "HEDDLE_KNOWLEDGE_ADDRESS": running.stack.knowledge,
            "HEDDLE_ORCHESTRATOR_ADDRESS": running.stack.orchestrator,
            "HEDDLE_ASSISTANTS_ADDRESS": running.stack.assistants,
        }
        streamed = await run(at(running, curl), tmp_path)
        (tmp_path / "sdk.py").write_text(at(running, sdk))
        whole_answer = await run("python sdk.py", tmp_path)
        ingested = await run(at(running, ingest), tmp_path, **addresses)
        dated = await run(at(running, folder), tmp_path, **addresses)
        chatted = await run(at(running, chat), tmp_path, **addresses)
        listed = await run(at(running, grpcurl), tmp_path)
        created = await run(at(running, create), tmp_path)
        await run(at(running, organization), tmp_path, **addresses)
        created_key = await run(at(running, key), tmp_path, **addresses)

    explained = "A loop on a loom that holds one thread in its place."
    assert explained in spoken(streamed)
    assert streamed.rstrip().endswith("data: [DONE]")
    assert explained in whole_answer
    assert "README.md" in ingested
    assert "loom.md: 1 passage" in dated
    assert explained in chatted
    assert '"word_count"' in listed
    assert json.loads(created)["name"] == "tutor"
    assert "hk_" in created_key
