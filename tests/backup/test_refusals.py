"""What a restore refuses, and what it leaves when it refuses or dies."""

import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from backup.filled import environment, members, rewritten, run

Contents = dict[str, bytes]
ASSISTANTS = "database/assistants.jsonl"


def _changed(contents: Contents) -> Contents:
    return contents | {ASSISTANTS: contents[ASSISTANTS].replace(b"Teixeix", b"Talleu!")}


def _without(name: str) -> Callable[[Contents], Contents]:
    return lambda contents: {key: data for key, data in contents.items() if key != name}


def _newer(contents: Contents) -> Contents:
    header = json.loads(contents["heddle-backup.json"]) | {"format": 2, "heddle": "9.0.0"}
    return contents | {"heddle-backup.json": json.dumps(header).encode()}


def _of_another_schema(contents: Contents) -> Contents:
    manifest = json.loads(contents["manifest.json"])
    manifest["header"]["schema"] = "0999"
    return contents | {"manifest.json": json.dumps(manifest).encode()}


def _outside(name: str) -> Callable[[Contents], Contents]:
    def change(contents: Contents) -> Contents:
        manifest = contents.pop("manifest.json")
        return contents | {name: b"{}\n", "manifest.json": manifest}

    return change


ARCHIVES = {
    "'database/assistants' has changed": _changed,
    "'database/assistants' is missing": _without(ASSISTANTS),
    "it ends after": _without("manifest.json"),
    "'knowledge/outbox.jsonl' does not belong": _without("heddle-backup.json"),
    "format 2, and this Heddle reads format 1": _newer,
    "tables of revision 0999": _of_another_schema,
    "'../evil.jsonl' does not belong": _outside("../evil.jsonl"),
    "'/etc/evil.jsonl' does not belong": _outside("/etc/evil.jsonl"),
    "'database/../../evil.jsonl' does not belong": _outside("database/../../evil.jsonl"),
    "'settings/strange' does not belong": _outside("settings/strange.jsonl"),
}


def _refusal(arguments: str, settings: dict[str, str], capfd: pytest.CaptureFixture[str]) -> str:
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as stopped:
        run(arguments, settings, patch)
    assert stopped.value.code == 1
    return capfd.readouterr().err


@pytest.mark.parametrize("problem", ARCHIVES)
def test_a_restore_names_what_is_wrong_with_an_archive_and_changes_nothing(
    problem: str, archive: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    contents = members(archive)
    changed = rewritten(tmp_path / "changed.tar", ARCHIVES[problem](contents))
    target = environment(tmp_path / "target")
    assert problem in _refusal(f"restore {changed}", target, capfd)
    assert _files(tmp_path / "target") == []


def _files(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("length", [100, 5_000, 60_000])
def test_a_truncated_archive_is_refused(
    length: int, archive: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    short = tmp_path / "short.tar"
    short.write_bytes(archive.read_bytes()[:length])
    output = _refusal(f"restore {short} --check", environment(tmp_path / "target"), capfd)
    assert "The archive is damaged, or is no backup of Heddle" in output


def test_a_link_in_an_archive_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "link.tar"
    with tarfile.open(path, "w") as tar:
        link = tarfile.TarInfo("database/users.jsonl")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    output = _refusal(f"restore {path}", environment(tmp_path / "target"), capfd)
    assert "'database/users.jsonl' does not belong into it" in output


def test_a_file_outside_of_its_folder_is_refused(
    archive: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    contents = members(archive)
    name = "files/images.jsonl"
    row = {"path": "../../evil", "mode": 0o600, "content": ""}
    contents[name] = json.dumps(row).encode() + b"\n"
    manifest = json.loads(contents["manifest.json"])
    for part in manifest["parts"]:
        if part["name"] == "files/images":
            digest = sha256(contents[name]).hexdigest()
            part.update(rows=1, size=len(contents[name]), sha256=digest)
    contents["manifest.json"] = json.dumps(manifest).encode()
    path = rewritten(tmp_path / "evil.tar", contents)
    output = _refusal(f"restore {path}", environment(tmp_path / "a/target"), capfd)
    assert "'../../evil', outside of its folder" in output
    assert not (tmp_path / "a/evil").exists()


def test_an_installation_with_anything_in_it_is_refused(
    archive: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    image = tmp_path / "images/default/ann/x.png"
    image.parent.mkdir(parents=True)
    image.write_bytes(b"x")
    output = _refusal(f"restore {archive}", environment(tmp_path), capfd)
    assert "The installation is not empty: it has rows of 'files/images'" in output
    assert image.read_bytes() == b"x"


def test_an_installation_with_another_pepper_is_refused(
    archive: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    other = environment(tmp_path) | {"HEDDLE_ASSISTANTS_KEY_PEPPER": "another" * 10}
    output = _refusal(f"restore {archive}", other, capfd)
    assert "set HEDDLE_ASSISTANTS_KEY_PEPPER_FILE to FOLDER/HEDDLE_ASSISTANTS_KEY_PEPPER" in output
    assert not (tmp_path / "images").exists()


def test_a_folder_without_an_installation_is_not_backed_up(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    output = _refusal(f"backup {tmp_path}/x.tar", environment(tmp_path), capfd)
    assert "There is nothing to back up" in output
    assert _files(tmp_path) == []


def test_an_archive_is_never_overwritten(
    first: Path, archive: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = archive.read_bytes()
    assert "exists already" in _refusal(f"backup {archive}", environment(first), capfd)
    assert archive.read_bytes() == before


def test_secrets_can_be_left_out(
    first: Path, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plain.tar"
    run(f"backup {path} --without-secrets", environment(first), monkeypatch)
    pepper = (first / "heddle.db.pepper").read_bytes().strip()
    assert pepper in archive.read_bytes()
    assert pepper not in path.read_bytes()


@pytest.mark.exhaustive
@pytest.mark.parametrize("made", ["collections.lance", "uploads"])
def test_a_restore_that_is_killed_begins_anew(
    made: str, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = environment(tmp_path)
    command = [str(Path(sys.executable).with_name("heddle")), "restore", str(archive)]
    with subprocess.Popen(command, env=os.environ | settings) as restoring:  # noqa: S603 - ours
        while not (tmp_path / "knowledge" / made).exists():
            assert restoring.poll() is None
            time.sleep(0.0005)
        restoring.kill()
    assert restoring.returncode == -signal.SIGKILL
    run(f"restore {archive}", settings, monkeypatch)
    run(f"restore {archive} --compare", settings, monkeypatch)
    assert [name for name in _files(tmp_path) if "restoring" in name] == []
