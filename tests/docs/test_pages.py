"""Every page: its commands run in page order against a whole Heddle and print what it shows."""

import json
import shutil
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml
from containers.files import accepted_by_compose
from conversion.assistant_files import read_assistant
from docs.blocks import Block, blocks
from docs.console import agrees, pieces, steps
from docs.reader_pages import GUIDES, TUTORIALS
from docs.shell import run
from heddle_gateway.auth.oidc.configuration import ProviderConfiguration
from heddle_migration_service.lti.platforms import PlatformConfiguration
from integration.whole import Whole, whole
from lamb_stand_in.rows import Rows, hashed, new_database
from lamb_stand_in.school import METADATA
from lamb_stand_in.server import lamb
from migration.knowledge.lamb_kb_server import lamb_kb_server
from migration.lamb.lamb_database import Lamb
from runtime.examples import sampled

ROOT = Path(__file__).parents[2]
ALL = sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "adr")
"""Records of decisions show code as it was."""
PAGES = [page for page in ALL if page not in (*GUIDES, *TUTORIALS)]
"""The commands of the guides run against `make up`, in test_readme, and those of the tutorials in
test_tutorials."""
RUN = ("sh", "python", "console")
"""The languages of blocks that run. `bash` is for commands outside of a page's story."""
COMMANDS = (*RUN, "bash")
NOT_RUN_AT_MOST = 4
SCHEMAS: dict[str, Callable[[Any], object]] = {
    "assistant": read_assistant,
    "compose": accepted_by_compose,
    "learning-platforms": lambda entries: [PlatformConfiguration.of(each) for each in entries],
    "identity-providers": lambda entries: [ProviderConfiguration.of(each) for each in entries],
}
GUIDE = ROOT / "docs/lamb.md"
"""How to move from LAMB to Heddle. Its last part runs without LAMB."""
SECRET = "a-secret-of-at-least-32-characters"  # of the commands, too
ANN = "ann@uni.example"
"""The user of the pages, in LAMB, too."""
CALENDAR = [sys.executable, "examples/mcp/calendar_server.py", "examples/documents/calendar.ics"]
"""The MCP server of an example, as `make up` allows it."""
_MARK = "--- this block ---"


def runs(block: Block) -> bool:
    return block.language in RUN and not block.not_run


RUNNING = [page for page in PAGES if page != GUIDE and any(map(runs, blocks(page)))]


def names(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize(
    "page",
    sampled(sorted(RUNNING, key=lambda page: len(blocks(page))), 1),
    ids=names,
)
async def test_commands_run_in_order_and_print_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDDLE_TOOLS_MCP_COMMANDS", json.dumps({"calendar": CALENDAR}))
    shutil.copytree(ROOT / "examples", tmp_path, dirs_exist_ok=True)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    shutil.copy(ROOT / "README.md", tmp_path)
    listed = [block for block in blocks(page) if not block.not_run]
    programs: list[str] = []

    async with whole(tmp_path) as running:
        await run_blocks(running, tmp_path, listed, programs)
        for step in steps(page):
            printed = await run(actual(running, step.command), tmp_path, **addresses(running))
            assert agrees(pieces(step.output), pieces(printed)), f"{page}:{step.line}\n{printed}"


@pytest.mark.exhaustive
async def test_the_guide_leads_from_a_lamb_to_a_heddle_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDDLE_IDENTITY_SECRET", SECRET)
    last = next(
        number
        for number, line in enumerate(GUIDE.read_text().splitlines(), start=1)
        if line == "### 3. Replacement"
    )
    listed = [block for block in blocks(GUIDE) if not block.not_run]
    beside = [block for block in listed if block.line < last]
    tables = lamb_of_the_guide(tmp_path)

    async with AsyncExitStack() as exits:
        knowledge = await exits.enter_async_context(lamb_kb_server())
        knowledge.add(17, "looms", "1").add_file(17, "looms.md", b"A shed opens between threads.")
        monkeypatch.setenv("HEDDLE_MIGRATION_LAMB_KB_URL", knowledge.url)
        monkeypatch.setenv("HEDDLE_MIGRATION_LAMB_KB_TOKEN", knowledge.token)
        behind = await exits.enter_async_context(lamb(database=tables.path))
        running = await exits.enter_async_context(
            whole(tmp_path, lamb_url=behind.url, lamb_database=tables.path, follows=True)
        )
        await run_blocks(running, tmp_path, beside, [])
    forget_addresses(tmp_path / ".exports")
    async with whole(tmp_path, lamb_database=tables.path) as running:
        await run_blocks(running, tmp_path, listed[len(beside) :], [])
    assert r"lamb\_chats" in (tmp_path / "report.md").read_text()


def forget_addresses(exports: Path) -> None:
    """Leave only what a page exports: Heddle starts again at other addresses."""
    lines = exports.read_text().splitlines(keepends=True)
    exports.write_text("".join(line for line in lines if "HEDDLE_" not in line))


async def run_blocks(
    running: Whole, folder: Path, listed: list[Block], programs: list[str]
) -> None:
    """Run blocks in their order, and compare what they print with what the page shows."""
    for block, following in zip(listed, [*listed[1:], None], strict=True):
        if block.language == "console":
            continue
        if block.language == "python":
            programs.append(block.text)
        if block.language in RUN:
            printed = await output(running, folder, block, programs)
            if following and following.language == "output":
                assert agrees(following.text.strip(), printed.strip()), f"{block.place}\n{printed}"


def lamb_of_the_guide(folder: Path) -> Lamb:
    """Make the database of the LAMB with which the guide begins."""
    tables = new_database(folder / "lamb_v4.db")
    ann = {"id": 1, "user_email": ANN, "password_hash": hashed("PASSWORD")}
    tables.add("Creator_users", ann)
    for identifier, name in ((7, "1_weaver"), (10, "1_spinner")):
        assistant = {"id": identifier, "name": name, "owner": ANN, "system_prompt": "Weave."}
        prompts = {"prompt_template": "{context} {user_input}", "RAG_collections": ""}
        tables.add("assistants", {**assistant, **prompts, "api_callback": json.dumps(METADATA)})
        consumer = {"oauth_consumer_name": f"consumer_{identifier}"}
        tables.add("assistant_publish", {"assistant_id": identifier, **consumer})
    tables.add("kb_registry", {"id": 1, "kb_id": "17", "kb_name": "looms", "owner_user_id": 1})
    Rows(tables.path).store_chat(1, 7, [{"role": "user", "content": "What is a shed?"}])
    return tables


def test_json_and_yaml_fit_the_schema_that_the_page_names() -> None:
    for page in PAGES:
        for block in blocks(page):
            if block.language in {"json", "yaml"} and not block.not_run:
                value = yaml.safe_load(block.text)
                assert block.schema in SCHEMAS, (
                    f"{block.place}: name the schema in a comment before"
                )
                SCHEMAS[block.schema](value)


def test_every_block_has_a_language_and_every_output_a_command() -> None:
    for page in ALL:
        before = ""
        for block in blocks(page):
            assert block.language, block.place
            assert block.language != "output" or before in {"sh", "python"}, block.place
            before = block.language


def test_blocks_that_do_not_run_are_few_and_say_why() -> None:
    all_blocks = [block for page in ALL for block in blocks(page) if block.language in COMMANDS]
    not_run = [block for block in all_blocks if block.not_run or block.language not in RUN]

    assert len(all_blocks) > 80
    assert [block.place for block in not_run if len(block.not_run.split()) < 3] == []
    assert sum(block.language in RUN for block in not_run) <= NOT_RUN_AT_MOST


def test_blocks_of_a_page_are_read(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text(
        "<!-- not run: needs a GPU -->\n```sh\na\n```\n\n```output\nb\n```\n"
        '<!-- schema: assistant -->\n```json\n{"a": 1}\n```\n'
    )

    first, second, third = blocks(page)

    assert (first.language, first.not_run, first.text, first.line) == (
        "sh",
        "needs a GPU",
        "a\n",
        2,
    )
    assert (second.language, second.not_run) == ("output", "")
    assert (third.schema, json.loads(third.text)) == ("assistant", {"a": 1})


async def output(running: Whole, folder: Path, block: Block, programs: list[str]) -> str:
    """Run a block after those before it, and return what it prints. It must succeed."""
    if block.language == "python":
        program = folder / "program.py"
        program.write_text(actual(running, f"\nprint({_MARK!r})\n".join(programs)))
        command = "python program.py"
    else:
        # What a block exports is there for the next.
        before = "[ -f .exports ] && . ./.exports\n"
        command = f"{before}set -e\n{actual(running, block.text)}\nexport -p > .exports"
    # Not "|| echo": within it, a shell ignores `set -e`.
    checked = f"({command}\n)\n[ $? = 0 ] || echo FAILED"
    printed = await run(checked, folder, **addresses(running))
    assert not printed.rstrip().endswith("FAILED"), f"{block.place}\n{printed}"
    return printed.rpartition(f"{_MARK}\n")[2]


def actual(running: Whole, text: str) -> str:
    """Return `text` with the addresses of what runs here."""
    places = {
        "http://127.0.0.1:8080": running.url,
        "localhost:9101": running.stack.orchestrator,
        "localhost:9102": running.stack.tools,
        "localhost:9105": running.stack.knowledge,
        "localhost:9103": running.stack.connector,
        "localhost:9104": running.stack.assistants,
        ".venv/bin/": "",
        "http://lamb:9099": running.lamb_url,
    }
    for shown, address in places.items():
        text = text.replace(shown, address)
    return text


def addresses(running: Whole) -> dict[str, str]:
    """Return the settings by which the `heddle` command finds the services."""
    return {
        "HEDDLE_TOOLS_ADDRESS": running.stack.tools,
        "HEDDLE_KNOWLEDGE_ADDRESS": running.stack.knowledge,
        "HEDDLE_ORCHESTRATOR_ADDRESS": running.stack.orchestrator,
        "HEDDLE_CONNECTOR_ADDRESS": running.stack.connector,
        "HEDDLE_ASSISTANTS_ADDRESS": running.stack.assistants,
        "HEDDLE_MIGRATION_ADDRESS": running.stack.optional["migration"],
        "KEY": "development",
    }
