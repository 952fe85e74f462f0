"""How a patch is undone, and how long it can be."""

import stat
from pathlib import Path

import pytest
from heddle_tools_service.capabilities.workspace import Edit, FileEdits
from heddle_tools_service.workspace import state
from heddle_tools_service.workspace.engine import Workspace
from heddle_tools_service.workspace.errors import WorkspaceError
from tools_service.workspace.areas import patched, waiting


def test_backups_are_for_the_service_alone(workspace: Workspace, seven: Path) -> None:
    seven.chmod(0o644)
    found = patched(workspace, "seven.py", Edit("x", "    pass", 2, 2))

    for folder in ("locks", "journal", "backups", f"backups/{found.restore_id}"):
        assert stat.S_IMODE((workspace.state.folder / folder).stat().st_mode) == 0o700
    backup = workspace.state.backup(found.restore_id)
    assert {stat.S_IMODE(file.stat().st_mode) for file in backup.iterdir()} == {0o600}


def test_a_patch_and_its_undoing_can_be_undone(
    workspace: Workspace, seven: Path, tmp_path: Path
) -> None:
    before = seven.read_bytes()
    seven.chmod(0o755)
    done = workspace.patch(
        [
            FileEdits("seven.py", (Edit("x", "    pass", 2, 2),)),
            FileEdits("new.txt", (Edit("new", ""),), create=True),
        ],
        waiting,
    )
    after = seven.read_bytes()

    undone = workspace.restore(done.restore_id, waiting)

    assert [(file.path, file.status) for file in undone.files] == [
        ("seven.py", "restored"),
        ("new.txt", "removed"),
    ]
    assert seven.read_bytes() == before
    assert stat.S_IMODE(seven.stat().st_mode) == 0o755
    assert not (tmp_path / "ana" / "new.txt").exists()

    workspace.restore(undone.restore_id, waiting)

    assert seven.read_bytes() == after
    assert (tmp_path / "ana" / "new.txt").read_text() == "new"


def test_one_file_of_a_patch_can_be_restored(workspace: Workspace, seven: Path) -> None:
    before = seven.read_bytes()
    (seven.parent / "b.txt").write_text("b\n")
    done = workspace.patch(
        [
            FileEdits("seven.py", (Edit("x", "    pass", 2, 2),)),
            FileEdits("b.txt", (Edit("c", "b", 1, 1),)),
        ],
        waiting,
    )

    undone = workspace.restore(done.restore_id, waiting, path="seven.py")

    assert [file.path for file in undone.files] == ["seven.py"]
    assert seven.read_bytes() == before
    assert (seven.parent / "b.txt").read_text() == "c\n"
    with pytest.raises(WorkspaceError, match="did not touch"):
        workspace.restore(done.restore_id, waiting, path="other")


def test_what_was_written_since_is_lost_only_by_force(workspace: Workspace, seven: Path) -> None:
    before = seven.read_bytes()
    done = patched(workspace, "seven.py", Edit("x", "    pass", 2, 2))
    seven.write_text("other work\n")

    with pytest.raises(WorkspaceError, match="changed since") as caught:
        workspace.restore(done.restore_id, waiting)
    assert caught.value.kind == "conflict"
    assert seven.read_text() == "other work\n"

    workspace.restore(done.restore_id, waiting, force=True)
    assert seven.read_bytes() == before


def test_a_change_whose_backup_is_being_removed_is_not_found(
    workspace: Workspace, seven: Path
) -> None:
    made = patched(workspace, "seven.py", Edit("x", "    pass", 2, 2)).restore_id
    (workspace.state.folder / "backups" / made / "0").unlink()

    with pytest.raises(WorkspaceError, match="There is no restore_id") as caught:
        workspace.restore(made, waiting)

    assert caught.value.kind == "not_found"
    assert seven.read_text().splitlines()[1] == "x"


def test_what_is_left_of_a_backup_goes_with_the_next_change(
    workspace: Workspace, seven: Path
) -> None:
    backups = workspace.state.folder / "backups"
    patched(workspace, "seven.py", Edit("x", "    pass", 2, 2))
    (backups / "half-removed").mkdir()
    (backups / "half-removed" / "0").write_text("old")

    made = patched(workspace, "seven.py", Edit("y", "    pass", 5, 5)).restore_id

    assert "half-removed" not in {path.name for path in backups.iterdir()}
    assert workspace.restore(made, waiting).files[0].status == "restored"
    assert "y" not in seven.read_text()


@pytest.mark.parametrize("identifier", ["", "x", "0" * 24, "../../ana", "..", "0" * 23 + "/"])
@pytest.mark.usefixtures("seven")
def test_an_unknown_restore_id_is_not_found(workspace: Workspace, identifier: str) -> None:
    patched(workspace, "seven.py", Edit("x", "    pass", 2, 2))

    with pytest.raises(WorkspaceError, match="There is no restore_id") as caught:
        workspace.restore(identifier, waiting)
    assert caught.value.kind == "not_found"


def test_only_the_last_backups_are_kept(
    workspace: Workspace, seven: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "MAX_BACKUPS", 3)
    done = [patched(workspace, "seven.py", Edit("x", "", 1, 0)).restore_id for _ in range(5)]

    kept = sorted(path.name for path in (workspace.state.folder / "backups").iterdir())

    assert kept == sorted(done)[-3:]
    assert kept == done[-3:]
    assert seven.read_text().startswith("x\n" * 5)
