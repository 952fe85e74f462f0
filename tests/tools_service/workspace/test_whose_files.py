"""Whose files the workspace's tools reach: those of who asks, and no others."""

import re
import stat
from pathlib import Path

import pytest
from heddle_runtime.errors import UnauthenticatedError
from heddle_runtime.identity.callers import Identity
from heddle_tools_service.providers.workspaces import folder_name
from tools_service.serving import Client, invocation
from tools_service.workspace.asking import (
    ANA,
    BOB,
    CHANGE,
    EVE,
    asked_by,
    done,
    refused,
    serving_in,
)


async def test_everybody_has_files_of_their_own(client: Client, home: Path) -> None:
    for stranger in (
        BOB,
        EVE,
        Identity("ANA@example.org", "looms", ("creator",)),
        Identity("ana@example.org", scopes=("creator",)),
    ):
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
async def test_who_asks_is_believed_only_with_a_signature(tmp_path: Path) -> None:
    made = invocation("1", "read_file")
    made.function_call.name = "read_file"
    made.function_call.arguments_json = '{"file_path": "seven.py"}'
    async with serving_in(tmp_path, "x" * 32) as client:
        with asked_by(ANA), pytest.raises(UnauthenticatedError):
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
