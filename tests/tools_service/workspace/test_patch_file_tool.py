"""`patch_file` and `restore_file` as a model calls them, over real calls."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import HeddleError, InvalidRequestError, ToolFailedError
from heddle_tools_service.workspace import locks
from tools_service.serving import Client, invocation, outcome, text_of
from tools_service.workspace.areas import SEVEN
from tools_service.workspace.asking import ANA, CHANGE, asked_by, call, done, refused


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
        "changed seven.py, line 2: Return a value",
        "changed seven.py, line 5: This one too",
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


@pytest.mark.usefixtures("home")
async def test_people_read_which_lines_were_changed(client: Client) -> None:
    insertion = {**CHANGE, "line_start": 4, "line_end": 3, "old_content": ""}
    several = {**CHANGE, "line_start": 1, "line_end": 2, "old_content": "def func1():\n    pass"}
    new = {"old_content": "", "new_content": "x\n", "reason": ""}
    patch = {"file_path": "seven.py", "changes": [several, insertion]}
    made = {"file_path": "new.py", "changes": [new], "create": True}

    statuses, _ = await call(client, "patch_file", {**patch, "other_files": [made]})

    assert [status.message for status in statuses[1:]] == [
        "changed seven.py, lines 1-2: Return a value",
        "changed seven.py, before line 4: Return a value",
        "created new.py",
    ]


async def test_a_path_is_told_as_it_is_listed(client: Client, home: Path) -> None:
    (home / "src").mkdir()
    (home / "src" / "a.py").write_text("    pass\n")
    change = {**CHANGE, "line_start": 1, "line_end": 1}

    statuses, _ = await call(client, "patch_file", {"file_path": "./src/a.py", "changes": [change]})

    assert [status.change.path for status in statuses[1:]] == ["src/a.py"]
    assert (await done(client, "read_file", {"file_path": "./src/a.py"})).startswith("src/a.py, ")


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
