"""The tools of the workspace as a model calls them, over real calls of people who are known."""

import asyncio
import json
import re
import stat
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from heddle.tool.v1 import tool_pb2 as pb
from heddle.tool.v1 import tool_pb2_grpc
from heddle_runtime.calls import CALLER, Caller, outgoing
from heddle_runtime.client import channel
from heddle_runtime.errors import (
    HeddleError,
    InvalidRequestError,
    ToolFailedError,
    UnauthenticatedError,
)
from heddle_runtime.identity import Identity, TokenSigner
from heddle_runtime.server import running
from heddle_tools_service.app import ToolsSettings, app
from heddle_tools_service.providers.workspaces import folder_name
from heddle_tools_service.workspace import locks
from tools_service.serving import Client, invocation, outcome, said, text_of
from tools_service.workspace.areas import SEVEN

SECRET = "s" * 32
ANA = Identity("ana@example.org", "looms")
BOB = Identity("bob@example.org", "looms")
EVE = Identity("ana@example.org", "pirates")
CHANGE = {
    "line_start": 2,
    "line_end": 2,
    "old_content": "    pass",
    "new_content": "    return 1",
    "reason": "Return a value",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Ana's folder."""
    folder = tmp_path / "workspaces" / "looms" / "ana@example.org"
    folder.mkdir(parents=True)
    (folder / "seven.py").write_text(SEVEN)
    return folder


@pytest.fixture
async def client(tmp_path: Path) -> AsyncGenerator[Client]:
    async with serving_in(tmp_path) as made:
        yield made


@asynccontextmanager
async def serving_in(folder: Path) -> AsyncGenerator[Client]:
    settings = ToolsSettings(
        address="127.0.0.1:0",
        drain_wait=0,
        data_dir=folder / "knowledge",
        workspace_dir=folder / "workspaces",
        identity_secret=SECRET,  # type: ignore[arg-type] # pydantic makes a secret of it
    )
    async with running(app(settings), settings) as service, channel(service.address) as connection:
        await connection.channel_ready()
        yield Client(tool_pb2_grpc.ToolServiceStub(connection))


@contextmanager
def asked_by(identity: Identity, secret: str = SECRET) -> Iterator[None]:
    before = CALLER.set(Caller("request-1", identity, TokenSigner(secret).token(identity)))
    yield
    CALLER.reset(before)


async def call(
    client: Client,
    tool: str,
    arguments: dict[str, Any],
    *,
    identity: Identity = ANA,
    config: dict[str, Any] | None = None,
) -> tuple[list[pb.ToolStatus], "pb.ToolResult | HeddleError"]:
    """Return the statuses and the outcome of a model's call."""
    made = invocation("1", tool, config)
    made.function_call.name = tool
    made.function_call.arguments_json = json.dumps(arguments)
    with asked_by(identity):
        events = await client.run_all([made], said("Mend it", owner="eve@example.org"))
    told = [event.status for batch in events for event in batch if event.HasField("status")]
    return told, outcome(events, "1")


async def done(client: Client, tool: str, arguments: dict[str, Any], **more: Any) -> Any:
    """Return what a model reads of a call that works: JSON, or text."""
    _, found = await call(client, tool, arguments, **more)
    assert isinstance(found, pb.ToolResult), found
    text = text_of(found)
    return json.loads(text) if text.startswith("{") else text


async def refused(client: Client, tool: str, arguments: dict[str, Any], **more: Any) -> HeddleError:
    _, found = await call(client, tool, arguments, **more)
    assert isinstance(found, HeddleError), found
    return found


async def test_a_file_is_read_patched_and_restored(client: Client, home: Path) -> None:
    read = await done(client, "read_file", {"file_path": "seven.py"})
    head, *lines = read.splitlines()
    digest = re.search(r"sha256 ([0-9a-f]{64})$", head)
    assert head.startswith("seven.py, lines 1-7 of 7, sha256 ")
    assert lines[:3] == ["    1| def func1():", "    2|     pass", "    3| "]
    assert digest

    patch = {"file_path": "seven.py", "changes": [CHANGE], "expected_sha256": digest[1]}
    told = await done(client, "patch_file", patch)

    [file] = told["files"]
    assert (file["file_path"], file["status"]) == ("seven.py", "changed")
    assert (file["lines_added"], file["lines_removed"]) == (1, 1)
    assert "@@ -1,5 +1,5 @@\n def func1():\n-    pass\n+    return 1\n" in file["diff"]
    [change] = file["changes"]
    assert change["status"] == "applied"
    assert (change["line_start"], change["line_end"]) == (2, 2)
    assert (home / "seven.py").read_text() == SEVEN.replace("    pass", "    return 1", 1)

    again = await refused(client, "patch_file", patch)
    assert again.metadata["kind"] == "conflict"

    undone = await done(client, "restore_file", {"restore_id": told["restore_id"]})
    assert undone["files"][0]["sha256"] == digest[1]
    assert (home / "seven.py").read_text() == SEVEN


async def test_changes_are_told_while_the_tool_runs(client: Client, home: Path) -> None:
    other = {**CHANGE, "line_start": 5, "line_end": 5, "reason": "This one too"}

    statuses, found = await call(
        client, "patch_file", {"file_path": "seven.py", "changes": [CHANGE, other]}
    )

    assert isinstance(found, pb.ToolResult)
    assert [status.message for status in statuses] == [
        "changing seven.py",
        "changed seven.py, lines 2-2: Return a value",
        "changed seven.py, lines 5-5: This one too",
    ]
    first, second = (status.change for status in statuses[1:])
    assert not statuses[0].HasField("change")
    assert (first.path, first.reason, first.line_start, first.line_end) == (
        "seven.py",
        "Return a value",
        2,
        2,
    )
    assert first.diff == json.loads(text_of(found))["files"][0]["diff"]
    assert (second.line_start, second.diff) == (5, "")
    assert (home / "seven.py").read_text().count("return 1") == 2


async def test_a_dry_run_tells_of_no_change(client: Client, home: Path) -> None:
    statuses, found = await call(
        client, "patch_file", {"file_path": "seven.py", "changes": [CHANGE], "dry_run": True}
    )

    assert isinstance(found, pb.ToolResult)
    assert json.loads(text_of(found))["dry_run"] is True
    assert [status.HasField("change") for status in statuses] == [False]
    assert (home / "seven.py").read_text() == SEVEN


async def test_several_files_are_changed_together_or_not_at_all(client: Client, home: Path) -> None:
    new = {"old_content": "", "new_content": "made\n", "reason": "New"}
    both = {
        "file_path": "seven.py",
        "changes": [CHANGE],
        "other_files": [{"file_path": "src/new.py", "changes": [new], "create": True}],
    }
    wrong = {**both, "changes": [CHANGE, {**CHANGE, "line_start": 8, "line_end": 8}]}

    error = await refused(client, "patch_file", wrong)

    assert error.metadata["kind"] == "invalid_range"
    assert "Invalid line range 8-8: the file has 7 lines" in error.message
    assert not (home / "src").exists()
    assert (home / "seven.py").read_text() == SEVEN
    told = await done(client, "patch_file", both)
    assert [file["status"] for file in told["files"]] == ["changed", "created"]
    assert (home / "src" / "new.py").read_text() == "made\n"


async def test_several_problems_are_told_together(client: Client, home: Path) -> None:
    wrong = [
        {**CHANGE, "old_content": f"nothing {n}", "line_start": n, "line_end": n} for n in (1, 4)
    ]

    error = await refused(client, "patch_file", {"file_path": "seven.py", "changes": wrong})

    assert isinstance(error, ToolFailedError)
    assert error.metadata["kind"] == "content_mismatch"
    assert error.message.startswith("changes[0] of seven.py: Content mismatch at lines 1-1.")
    assert error.message.endswith("And 1 more problem.")
    _, second = json.loads(error.metadata["details_json"])["problems"]
    assert second.startswith("changes[1] of seven.py: Content mismatch at lines 4-4.")
    assert (home / "seven.py").read_text() == SEVEN


@pytest.mark.parametrize("missing", ["old_content", "new_content", "reason"])
async def test_a_change_that_lacks_a_member_is_refused(
    client: Client, home: Path, missing: str
) -> None:
    change = {name: value for name, value in CHANGE.items() if name != missing}

    error = await refused(client, "patch_file", {"file_path": "seven.py", "changes": [change]})

    assert isinstance(error, InvalidRequestError)
    assert [violation.field for violation in error.violations] == [
        f"arguments.changes[0].{missing}"
    ]
    assert error.metadata["kind"] == "invalid_arguments"
    assert (home / "seven.py").read_text() == SEVEN


@pytest.mark.parametrize("missing", ["line_start", "line_end"])
async def test_half_a_range_is_refused(client: Client, home: Path, missing: str) -> None:
    change = {name: value for name, value in CHANGE.items() if name != missing}

    error = await refused(client, "patch_file", {"file_path": "seven.py", "changes": [change]})

    assert error.metadata["kind"] == "invalid_arguments"
    assert (home / "seven.py").read_text() == SEVEN


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    "more",
    [
        {"user": "bob@example.org"},
        {"organization": "pirates"},
        {"workspace": "/"},
        {"expected_sha256": "xyz"},
        {"other_files": [{"file_path": "a"}]},
        {"changes": []},
        {"changes": [CHANGE] * 201},
        {"file_path": ""},
    ],
)
async def test_other_arguments_are_refused(client: Client, more: dict[str, Any]) -> None:
    patch = {"file_path": "seven.py", "changes": [CHANGE], **more}

    assert isinstance(await refused(client, "patch_file", patch), InvalidRequestError)


async def test_everybody_has_files_of_their_own(client: Client, home: Path) -> None:
    for stranger in (BOB, EVE, Identity("ANA@example.org", "looms"), Identity("ana@example.org")):
        error = await refused(client, "read_file", {"file_path": "seven.py"}, identity=stranger)
        assert error.metadata["kind"] == "not_found"
        assert await done(client, "list_files", {}, identity=stranger) == "(no files)"
    told = await done(client, "patch_file", {"file_path": "seven.py", "changes": [CHANGE]})
    for stranger in (BOB, EVE):
        restore = {"restore_id": told["restore_id"]}
        error = await refused(client, "restore_file", restore, identity=stranger)
        assert error.metadata["kind"] == "not_found"
    assert await done(client, "list_files", {}) == "seven.py  60 bytes"
    assert (home / "seven.py").exists()


@pytest.mark.usefixtures("home")
async def test_who_asks_is_believed_only_with_a_signature(client: Client) -> None:
    made = invocation("1", "read_file")
    made.function_call.name = "read_file"
    made.function_call.arguments_json = '{"file_path": "seven.py"}'
    with asked_by(ANA, "x" * 32), pytest.raises(UnauthenticatedError):
        await client.run_all([made])


@pytest.mark.parametrize(
    "path",
    [
        "../bob@example.org/x",
        "/etc/passwd",
        "../../.state/looms/ana@example.org/locks/all",
        ".git/config",
        "a/../../../x",
        "link",
    ],
)
async def test_no_argument_leads_out(client: Client, home: Path, path: str) -> None:
    (home / "link").symlink_to("/etc/passwd")
    for tool, arguments in (
        ("read_file", {"file_path": path}),
        ("patch_file", {"file_path": path, "changes": [CHANGE]}),
        ("patch_file", {"file_path": path, "changes": [CHANGE], "create": True}),
        ("list_files", {"folder": path}),
        ("search_files", {"query": "root", "folder": path}),
    ):
        error = await refused(client, tool, arguments)
        assert error.metadata.get("kind") == "path_denied", (tool, error)


async def test_an_author_can_open_one_folder_alone(client: Client, home: Path) -> None:
    (home / "project").mkdir()
    (home / "project" / "a.py").write_text("pass\n")
    (home / "projects.md").write_text("pass\n")
    only = {"folder": "project"}
    done_outside = await done(client, "patch_file", {"file_path": "seven.py", "changes": [CHANGE]})

    assert await done(client, "list_files", {}, config=only) == "project/a.py  5 bytes"
    found = await done(client, "search_files", {"query": "pass"}, config=only)
    assert found == "project/a.py:1: pass\n(1 line in 1 searched files)"
    assert "| pass" in await done(client, "read_file", {"file_path": "project/a.py"}, config=only)
    for tool, arguments in (
        ("read_file", {"file_path": "seven.py"}),
        ("read_file", {"file_path": "projects.md"}),
        ("read_file", {"file_path": "project/../seven.py"}),
        ("list_files", {"folder": ".."}),
        ("restore_file", {"restore_id": done_outside["restore_id"]}),
        ("patch_file", {"file_path": "seven.py", "changes": [CHANGE]}),
    ):
        error = await refused(client, tool, arguments, config=only)
        assert error.metadata.get("kind") == "path_denied", (tool, error)
    error = await refused(client, "list_files", {}, config={"folder": "../x"})
    assert error.metadata["kind"] == "path_denied"


@pytest.mark.usefixtures("home")
async def test_an_organisation_can_share_files(client: Client, tmp_path: Path) -> None:
    shared = {"shared": True}
    new = {"old_content": "", "new_content": "ours\n", "reason": "New"}
    patch = {"file_path": "ours.md", "changes": [new], "create": True}
    await done(client, "patch_file", patch, config=shared)

    assert "ours" in await done(
        client, "read_file", {"file_path": "ours.md"}, identity=BOB, config=shared
    )
    error = await refused(
        client, "read_file", {"file_path": "ours.md"}, identity=EVE, config=shared
    )
    assert error.metadata["kind"] == "not_found"
    assert await done(client, "list_files", {}) == "seven.py  56 bytes"
    assert (tmp_path / "workspaces" / "looms" / "~shared" / "ours.md").read_text() == "ours\n"


async def test_what_makes_no_sense_before_the_model_is_refused_there(client: Client) -> None:
    with asked_by(ANA):
        for tool in ("patch_file", "restore_file", "search_files"):
            with pytest.raises(InvalidRequestError, match="cannot be bound in the mode 'augment'"):
                await client.run(tool, {})


@pytest.mark.usefixtures("home")
async def test_a_file_and_a_list_can_fill_a_slot(client: Client) -> None:
    with asked_by(ANA):
        _, read = await client.run("read_file", {"file_path": "seven.py"})
        _, listed = await client.run("list_files", {})
        with pytest.raises(ToolFailedError, match="No file_path configured"):
            await client.run("read_file", {})

    assert "    7| # comment" in text_of(read)
    assert (read.slot, listed.slot) == ("file", "files")
    assert [source.title for source in read.sources] == ["seven.py"]
    assert text_of(listed) == "seven.py  56 bytes"


async def test_a_long_file_is_read_in_pieces(client: Client, home: Path) -> None:
    (home / "long.txt").write_bytes(b"".join(b"line %d\r\n" % n for n in range(9_000)) + b"end")

    first = await done(client, "read_file", {"file_path": "long.txt"})

    assert ", lines end with CRLF, no line end after the last line\n" in first
    rest = re.search(r"\(cut here; read on with line_start (\d+)\)$", first)
    assert rest
    assert len(first) < 52_000
    then = await done(
        client,
        "read_file",
        {"file_path": "long.txt", "line_start": int(rest[1]), "line_end": int(rest[1])},
    )
    assert f"| line {int(rest[1]) - 1}" in then


async def test_cut_searches_and_lists_say_so(client: Client, home: Path) -> None:
    for number in range(5):
        (home / f"{number}.txt").write_text("same\n")

    found = await done(client, "search_files", {"query": "same", "max_results": 2})
    listed = await done(client, "list_files", {"max_results": 2})

    assert found.endswith("; there may be more: only the first 2 are shown)")
    assert listed.endswith("\n(there may be more: only the first 2 are shown)")


async def test_a_patch_that_nobody_waits_for_is_not_begun(
    client: Client, home: Path, tmp_path: Path
) -> None:
    """The lock is held until after the call has timed out; then the patch finds nobody."""
    state = tmp_path / "workspaces" / ".state" / "looms" / "ana@example.org"
    (state / "locks").mkdir(parents=True)
    made = invocation("1", "patch_file")
    made.function_call.name = "patch_file"
    made.function_call.arguments_json = json.dumps({"file_path": "seven.py", "changes": [CHANGE]})
    made.timeout.FromMilliseconds(300)
    with locks.held(state / "locks" / "all", 0), asked_by(ANA):
        events = await client.run_all([made])
        found = outcome(events, "1")
    await asyncio.sleep(0.5)

    assert isinstance(found, HeddleError)
    assert found.reason == "DEADLINE_EXCEEDED"
    assert (home / "seven.py").read_text() == SEVEN


async def test_a_workspace_is_made_when_it_is_first_written_to(
    client: Client, tmp_path: Path
) -> None:
    root = tmp_path / "workspaces"
    assert await done(client, "list_files", {}) == "(no files)"
    await refused(client, "read_file", {"file_path": "a"})
    assert not root.exists()

    new = {"old_content": "", "new_content": "x", "reason": "New"}
    await done(client, "patch_file", {"file_path": "a", "changes": [new], "create": True})

    for folder in (root, root / "looms", root / "looms" / "ana@example.org"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A folder that has no place for workspaces."""
    (tmp_path / "workspaces").write_text("not a folder")
    return tmp_path


async def test_a_disk_that_fails_is_told_as_unavailable(broken: Path) -> None:
    new = {"old_content": "", "new_content": "x", "reason": "New"}
    patch = {"file_path": "a", "changes": [new], "create": True}
    async with serving_in(broken) as client:
        error = await refused(client, "patch_file", patch)

    assert error.reason == "UPSTREAM_UNAVAILABLE"
    assert str(broken) not in error.message


async def test_models_are_told_of_all_five(client: Client) -> None:
    names = ["patch_file", "read_file", "list_files", "search_files", "restore_file"]
    request = pb.ListFunctionsRequest(invocations=[invocation(name, name) for name in names])
    with asked_by(ANA):
        response = await client.stub.ListFunctions(request, **outgoing(5))

    assert [offer.functions[0].name for offer in response.functions] == names
    patch = json.loads(response.functions[0].functions[0].parameters_schema_json)
    assert set(patch["$defs"]["Change"]["properties"]) == set(CHANGE)
    assert patch["required"] == ["file_path", "changes"]


def test_folders_of_people_are_distinct_and_harmless() -> None:
    names = [
        "ana",
        "Ana",
        "a/b",
        "a%2fb",
        "..",
        ".",
        ".state",
        "~",
        "~shared",
        "é",
        "e\u0301",
        "a b",
    ]
    names += ["x" * 300, "x" * 301, "\0", "\udcff"]
    folders = [folder_name(name) for name in names]

    assert folder_name("ana.b-c_d@example.org") == "ana.b-c_d@example.org"
    assert len({folder.casefold() for folder in folders}) == len(names)
    for folder in folders:
        assert re.fullmatch(r"(~[0-9a-f]{64}|[a-z0-9@_%-][a-z0-9@_.%-]{0,199})", folder)
