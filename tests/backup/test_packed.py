"""Archives that another program has compressed or encrypted, as the page about backups shows."""

import bz2
import gzip
import io
import lzma
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from backup.filled import environment, run

COMPRESSED = pytest.mark.parametrize(
    "compress",
    [
        pytest.param(gzip.compress, id="gzip"),
        pytest.param(bz2.compress, id="bzip2", marks=pytest.mark.exhaustive),
        pytest.param(lzma.compress, id="xz", marks=pytest.mark.exhaustive),
    ],
)


@pytest.mark.exhaustive
@COMPRESSED
def test_a_compressed_archive_is_restored(
    compress: Callable[[bytes], bytes],
    archive: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packed = tmp_path / "heddle.tar.packed"
    packed.write_bytes(compress(archive.read_bytes()))
    run(f"restore {packed}", environment(tmp_path / "second"), monkeypatch)
    run(f"restore {archive} --compare", environment(tmp_path / "second"), monkeypatch)


@COMPRESSED
def test_a_damaged_compressed_archive_is_refused(
    compress: Callable[[bytes], bytes],
    archive: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    content = bytearray(compress(archive.read_bytes()))
    packed = tmp_path / "heddle.tar.packed"
    for damaged in (content[: len(content) // 2], _changed(content)):
        packed.write_bytes(damaged)
        with pytest.raises(SystemExit):
            run(f"restore {packed} --check", environment(tmp_path / "second"), monkeypatch)
        assert "The archive is damaged" in capfd.readouterr().err


@pytest.mark.exhaustive
def test_an_archive_that_unfolds_to_more_than_a_backup_is_refused(
    archive: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    packed = tmp_path / "heddle.tar.gz"
    size = 200 * 1024**2
    with tarfile.open(archive) as tar, tarfile.open(packed, "w:gz", compresslevel=6) as bomb:
        header = tar.next()
        assert header is not None
        bomb.addfile(header, tar.extractfile(header))
        member = tarfile.TarInfo("database/assistants.jsonl")
        member.size = size
        bomb.addfile(member, io.BytesIO(bytes(size)))
    for option in (" --check", ""):
        with pytest.raises(SystemExit):
            run(f"restore {packed}{option}", environment(tmp_path / "second"), monkeypatch)
        assert "unpacks to more than 100 times its size" in capfd.readouterr().err
    assert sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file()) < size // 4


def _changed(content: bytearray) -> bytearray:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]


def _age(folder: Path) -> tuple[list[str], list[str]]:
    key = folder / "key.txt"
    generated = _output(["age-keygen", "-o", str(key)])
    recipient = generated.stderr.decode().rpartition(" ")[2].strip()
    return ["age", "--recipient", recipient], ["age", "--decrypt", "--identity", str(key)]


def _gpg(folder: Path) -> tuple[list[str], list[str]]:
    home = folder / "gpg"
    home.mkdir(mode=0o700)
    gpg = ["gpg", "--batch", "--quiet", "--homedir", str(home), "--pinentry-mode", "loopback"]
    gpg += ["--passphrase", "", "--trust-model", "always"]
    _output([*gpg, "--quick-generate-key", "operator@example.org", "default", "encrypt"])
    return [*gpg, "--encrypt", "--recipient", "operator@example.org"], [*gpg, "--decrypt"]


@pytest.mark.parametrize("program", ["age", "gpg"])
def test_an_encrypted_archive_is_restored(
    program: str, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not shutil.which(program):
        pytest.skip(f"apt-get install {program}")
    encrypt, decrypt = {"age": _age, "gpg": _gpg}[program](tmp_path)
    encrypted = _output(encrypt, archive.read_bytes()).stdout
    assert b"heddle-backup.json" not in encrypted
    decrypted = tmp_path / "heddle.tar"
    decrypted.write_bytes(_output(decrypt, encrypted).stdout)
    run(f"restore {decrypted}", environment(tmp_path / "second"), monkeypatch)
    run(f"restore {archive} --compare", environment(tmp_path / "second"), monkeypatch)


def _output(command: list[str], data: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(command, input=data, capture_output=True, check=True)  # noqa: S603 - of this test
