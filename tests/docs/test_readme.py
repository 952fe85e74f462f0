"""The examples of the README and of the guides are the real ones."""

import json
import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml
from conversion.assistant_files import read_assistant
from docs.blocks import Block
from docs.blocks import blocks as blocks_of
from docs.console import agrees
from docs.make_up import ROOT, MakeUp, checkout, make_up
from docs.reader_pages import GUIDES, README
from docs.shell import run
from heddle_assistants.accounts.model_prices import read_prices
from heddle_conversion.assistant_file import read_file
from heddle_runtime.http.egress import SETTING
from integration.access.deployments import painting
from integration.browser import browser
from integration.provider import providing
from knowledge.pages.pdfs import pdf
from migration.lamb.lamb_database import Lamb
from runtime.examples import EXHAUSTIVE, NIGHTLY
from tools_service.mcp_sites import library
from tools_service.search_sites import search_sites
from tools_service.serving import discovered

from docs.reference.settings import settings_by_package

SHELL = {"sh", "console"}
DEMO, QUICK = "make demo", "make quick"
LONG = {DEMO, QUICK}
"""Commands that a test of its own runs. The tests of the second are those of `make test`."""
STARTED = "make up"
"""The command that runs while the others do."""
LAMB = "/srv/lamb/lamb_v4.db"
MCP = "https://mcp.example.org/mcp"
MCP_COMMANDS = re.findall(r"HEDDLE_TOOLS_MCP_COMMANDS \?= (.+)", (ROOT / "Makefile").read_text())[0]
"""Of `make up` without a LAMB database."""
EXPLAINED = "A loop on a loom that holds one thread in its place."
LONG_START = pytest.mark.timeout(600)
"""The first start of `make up` ingests a manual."""
PRINTED = {
    "heddle chat show_prompt": EXPLAINED,
    "heddle ingest docs": "loom.md: 1 passage",
    "/assistants -H": '"name":"tutor"',
    "heddle_gateway --help": "HEDDLE_GATEWAY_API_KEY",
    "heddle import-lamb ": "assistants",
    "heddle keys create --name 'Open WebUI'": "hk_",
    '"moodle": {"url"': "physics: changed",
    "--assistant 42 --reset": "42",
}
"""What commands print, where no page shows it. Each is the only one with its text."""


def blocks(language: str) -> list[str]:
    """Return the texts of all blocks in a language."""
    return [each.text for page in GUIDES for each in blocks_of(page) if each.language == language]


def test_each_tool_of_the_guide_is_a_short_file_that_loads() -> None:
    plugins = ROOT / "examples" / "plugins"
    text = (plugins / "glossary.py").read_text()

    assert text in blocks("python")
    assert len(text.splitlines()) < 40
    names = {
        "citation",
        "library_catalogue",
        "proverbs",
        "question_bank",
        "readability",
        "term_week",
    }
    for name in names:
        assert len((plugins / f"{name}.py").read_text().splitlines()) < 40, name
    assert {"glossary", *names} <= {tool.name for tool in discovered(plugins)}


def test_the_assistant_of_the_guide_is_one() -> None:
    document, *others = blocks("yaml")
    bindings = [each for each in others if "tools" in yaml.safe_load(each)]
    known = {each.name for each in discovered(ROOT / "examples" / "plugins")}

    for binding in bindings:
        tools = yaml.safe_load(binding)["tools"]
        assert {tool["type"] for tool in tools} <= known
        assert len(read_assistant({**yaml.safe_load(document), "tools": tools}).tools) == len(tools)
    assert read_assistant(yaml.safe_load(document)).tools[0].slot == "context"


def test_every_example_is_an_assistant_with_an_identifier_of_its_own() -> None:
    files = sorted((ROOT / "examples" / "assistants").glob("*.yaml"))

    files_read = [read_file(file.read_bytes()) for file in files]
    documents = [each.assistant for each in files_read if not each.faults]

    assert sorted(int(document.id) for document in documents) == list(range(1, 15))


def test_the_readme_is_short() -> None:
    assert len(README.read_text().splitlines()) <= 150


def test_the_folders_that_the_page_about_services_lists_exist() -> None:
    page = (ROOT / "docs" / "services.md").read_text()
    listed = re.findall(r"^\| `([a-z/-]+)/` \|", page, re.MULTILINE)

    assert len(listed) > 10
    assert [name for name in listed if not (ROOT / name).is_dir()] == []


def commands(page: Path) -> list[Block]:
    """Return the blocks that run: of a shell, of Python, and requests."""
    return [block for block in blocks_of(page) if not block.not_run]


def lines(text: str) -> list[str]:
    """Return the commands of a block without their comments."""
    bare = re.sub(r"\s+# .*$", "", text.replace("\\\n", " "), flags=re.MULTILINE)
    return [line for line in bare.splitlines() if line.strip()]


def is_excerpt(text: str) -> bool:
    """Return whether a block shows a part of an example, and is no program."""
    return text in blocks("python") and not re.search(r"\bclient\b", text)


def test_only_commands_for_a_container_engine_do_not_run() -> None:
    skipped = [
        block
        for page in GUIDES
        for block in blocks_of(page)
        if block.not_run and block.language in SHELL
    ]

    assert all("container engine" in block.not_run for block in skipped)
    assert all("docker compose" in block.text for block in skipped)
    for block in [each for page in GUIDES for each in commands(page)]:
        assert "docker" not in block.text, block.place
        if block.language in SHELL:
            targets = {line for line in lines(block.text) if line.startswith("make ")}
            assert targets <= {*LONG, STARTED}, block.place
    known = {name for names in settings_by_package().values() for name in names}
    exported = re.findall(r"\bexport (HEDDLE_\w+)", "\n".join(blocks("sh")))
    assert set(exported) <= known


OTHERS = sorted(ROOT.glob("benchmarks/**/README.md"))
"""The other READMEs with commands: benchmarks of minutes or hours."""


@pytest.mark.parametrize("page", OTHERS, ids=lambda page: page.relative_to(ROOT).parent.as_posix())
def test_benchmarks_take_the_options_that_their_pages_show(page: Path) -> None:
    shown = [
        line for block in blocks_of(page) for line in lines(block.text) if block.language in SHELL
    ]
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for command in shown:
        program, *options = command.split()
        if program == "make":
            assert options[0] in targets, command
            continue
        assert (program, options[0]) == (".venv/bin/python", "-m"), command
        module = ROOT.joinpath(*options[1].split("."))
        sources = [module.with_suffix(".py"), *module.glob("*.py")]
        source = "\n".join(each.read_text() for each in sources if each.exists())
        assert "__main__" in source or (module / "__main__.py").exists(), command
        for option in options[2:]:
            if option.startswith("--"):
                assert f'"{option}"' in source, command


@LONG_START
@pytest.mark.parametrize(
    "command", [pytest.param(DEMO, marks=EXHAUSTIVE), pytest.param(QUICK, marks=NIGHTLY)]
)
def test_long_commands_run(command: str, tmp_path: Path) -> None:
    assert any(command in lines(block.text) for block in commands(README))
    ran = subprocess.run(  # noqa: S603 - a command of the README
        command.split(), cwd=checkout(tmp_path), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def up(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[MakeUp]:
    """Run `make up` with providers of texts and pictures, a LAMB database and an MCP server."""
    folder = checkout(tmp_path_factory.mktemp("checkout"))
    (folder / "docs").mkdir()
    (folder / "docs" / "loom.md").write_text("A loom holds threads.")
    opened = folder / ".heddle" / "workspaces" / "default" / "developer" / "src"
    opened.mkdir(parents=True)
    (opened / "main.py").write_text("def weave(threads):\n    return threads\n" * 6)
    (folder / "loom.pdf").write_bytes(pdf("A heddle holds a thread."))
    lamb = Lamb(folder / "lamb_v4.db").make()
    lamb.add("organizations", {"id": 1, "slug": "lamb", "name": "LAMB", "is_system": 1})
    lamb.add("Creator_users", {"id": 1, "user_email": "ana@example.org", "user_name": "Ana"})
    lamb.add("assistants", {"id": 42, "name": "1_tutor"})
    async with AsyncExitStack() as exits:
        mcp = await exits.enter_async_context(library())
        (folder / "mcp.txt").write_text(mcp.url)
        settings = {
            "HEDDLE_CONNECTOR_OPENAI_API_KEY": "sk-of-the-operator",
            "HEDDLE_CONNECTOR_BANANA_IMG_API_KEY": "AIza-of-the-operator",
            "HEDDLE_CONNECTOR_BANANA_IMG_BASE_URL": exits.enter_context(painting()),
            "HEDDLE_MIGRATION_LAMB_DATABASE": str(folder / "lamb_v4.db"),
            "HEDDLE_CONNECTOR_OPENAI_BASE_URL": (await exits.enter_async_context(providing())).url,
            "HEDDLE_TOOLS_WEB_SEARCH_SEARXNG_URL": (
                await exits.enter_async_context(search_sites())
            ).url,
            "HEDDLE_TOOLS_MCP_COMMANDS": MCP_COMMANDS.replace("$(BIN)", ".venv/bin"),
            # Which are left out beside a LAMB database. One process runs all commands of the page.
            "HEDDLE_ASSISTANTS_DIR": "examples/assistants",
            "HEDDLE_TOOLS_PLUGINS_DIR": "examples/plugins",
            "HEDDLE_TOOLS_RUBRICS_DIR": "examples/rubrics",
            "HEDDLE_DEVSTACK_EXAMPLES": "true",
            SETTING: "127.0.0.0/8",
        }
        yield await exits.enter_async_context(make_up(folder, **settings))


@LONG_START
@pytest.mark.exhaustive
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
async def test_every_command_runs_as_it_is_printed(page: Path, up: MakeUp) -> None:
    programs: list[str] = []
    listed = commands(page)
    for block, following in zip(listed, [*listed[1:], None], strict=False):
        if block.language == "python" and not is_excerpt(block.text):
            programs.append(block.text)
            printed = await program(up, programs)
        elif block.language in SHELL:
            printed = await script(up, block)
        elif block.language == "json":
            printed = await configured(up, block)
        else:
            continue
        if following and following.language == "output":
            assert agrees(following.text.strip(), printed.strip()), f"{block.place}\n{printed}"
        shown = spoken(printed)[0] if printed.startswith("data: ") else printed
        for command, text in PRINTED.items():
            assert command not in block.text or text in shown, f"{block.place}\n{printed}"


def test_each_text_to_look_for_is_that_of_one_command() -> None:
    texts = [block.text for page in GUIDES for block in commands(page)]

    counts = {text: sum(text in each for each in texts) for text in PRINTED}
    assert counts == dict.fromkeys(PRINTED, 1)


async def program(up: MakeUp, programs: list[str]) -> str:
    """Run a program with those before it, whose variables it uses. It must succeed."""
    (up.folder / "program.py").write_text(up.actual("\n".join(programs)))
    return await succeeded(up, ".venv/bin/python program.py")


async def script(up: MakeUp, block: Block) -> str:
    """Run the lines of a block but those that other tests run. They must succeed."""
    left = {*LONG, STARTED}
    text = "\n".join(line for line in block.text.splitlines() if not left & {*lines(line)})
    text = text.replace(LAMB, str(up.folder / "lamb_v4.db"))
    text = text.replace(MCP, (up.folder / "mcp.txt").read_text())
    return await succeeded(up, f"set -e\n{up.actual(text)}")


async def succeeded(up: MakeUp, command: str) -> str:
    # The secret is that of the folder's `make up`, not that of the tests.
    names = up.addresses | {"HEDDLE_IDENTITY_SECRET": "", "HEDDLE_LOCAL_SECRET_FILE": ""}
    # Not "|| echo": within it, a shell ignores `set -e`.
    output = await run(f"({command}\n)\n[ $? = 0 ] || echo FAILED", up.folder, **names)
    assert not output.rstrip().endswith("FAILED"), f"{command}\n{output}"
    return output


async def configured(up: MakeUp, block: Block) -> str:
    """Send a request, or store settings of an organisation or prices."""
    value = json.loads(block.text)
    if "messages" in value:
        async with browser(up.url, timeout=100) as client:
            body = {**value, "max_tokens": 20}  # the embedded model needs 20 s for its usual length
            response = await client.post("/v1/chat/completions", json=body)
        assert response.status_code == 200, f"{block.place}\n{response.text}"
        _, events = spoken(response.text)
        check_report(block.place, events)
        return response.text
    if value.keys() & {"mcp_servers", "output_hosts"}:
        (up.folder / "settings.json").write_text(block.text)
        return await succeeded(up, ".venv/bin/heddle organizations set library settings.json")
    read_prices(value)
    return ""


QUESTIONS = {
    "1": "What are the phases of a changeset?",
    "10": "Schools should begin at nine, because pupils sleep longer then.",
    "11": "¿Cuánto tiempo puedo tener un libro?",
    "4": "Which files are there?",
    "6": "What are the phases of a changeset?",
    "7": "What is the flask filled with?",
    "8": "A loom by the sea.",
    "9": "What does the standard error tell?",
}
"""By the identifier of an example."""
UNABLE = {"12": "MOODLE_API_URL or MOODLE_TOKEN not configured"}
"""By the identifier of an example that needs more than `make up` has, what it says."""


@LONG_START
@pytest.mark.exhaustive
@pytest.mark.asyncio(loop_scope="module")
async def test_every_example_assistant_answers_without_failures(up: MakeUp) -> None:
    for file in sorted((ROOT / "examples" / "assistants").glob("*.yaml")):
        identifier = yaml.safe_load(file.read_text())["id"]
        question = QUESTIONS.get(identifier, "What is a heddle?")
        body = {
            "model": f"lamb_assistant.{identifier}",
            "max_tokens": 20,
            "messages": [{"role": "user", "content": question}],
        }
        async with browser(up.url, timeout=200) as client:
            whole = await client.post("/v1/chat/completions", json=body)
            stream = await client.post("/v1/chat/completions", json={**body, "stream": True})
        if identifier in UNABLE:
            assert UNABLE[identifier] in whole.json()["error"]["message"], file.name
            assert UNABLE[identifier] in stream.text, file.name
            continue
        assert whole.status_code == stream.status_code == 200, f"{file.name}: {whole.text}"
        answer = whole.json()
        assert answer["choices"][0]["message"]["content"].strip(), file.name
        check_report(file.name, answer.get("heddle", []))
        texts, events = spoken(stream.text)
        assert texts.strip(), file.name
        check_report(file.name, events)


def check_report(name: str, events: list[dict[str, Any]]) -> None:
    for event in events:
        if event["type"] == "report":
            report = event["data"]
            assert report["warnings"] == [], f"{name}: {report}"
            assert {tool["outcome"] for tool in report["tools"]} <= {"used", "empty"}, name


def spoken(stream: str) -> tuple[str, list[dict[str, Any]]]:
    """Return the text of a streamed answer, and its events."""
    chunks = [
        json.loads(line.removeprefix("data: "))
        for line in stream.splitlines()
        if line.startswith("data: {")
    ]
    assert not [chunk for chunk in chunks if "error" in chunk]
    assert stream.rstrip().endswith("data: [DONE]")
    text = "".join(
        choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"]
    )
    return text, [chunk["heddle"] for chunk in chunks if "heddle" in chunk]
