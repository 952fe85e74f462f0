"""Generate the Python of every contract into `gen/`. Run as `make proto`.

With `--check`, compare with what is committed instead, and say which files differ.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from grpc_tools import protoc

HERE = Path(__file__).parent
SOURCES = HERE / "heddle"
GENERATED = HERE / "gen"
# Our own interpreter's scripts, so that no activated environment is needed.
SCRIPTS = Path(sys.executable).parent


def main() -> int:
    """Generate, or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with gen/, write nothing")
    check: bool = parser.parse_args().check
    os.environ["PATH"] = f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as scratch:
        fresh = Path(scratch) / "gen"
        generate(fresh)
        if check:
            differing = compare(fresh, GENERATED)
            for name in differing:
                sys.stderr.write(f"protos/gen/{name} is out of date; run make proto\n")
            return bool(differing)
        shutil.rmtree(GENERATED, ignore_errors=True)
        shutil.copytree(fresh, GENERATED)
    return 0


def generate(folder: Path) -> None:
    """Compile with buf, generate with grpcio-tools, add what protoc leaves out.

    `descriptions.json` has the comments, with which the gateway describes its routes.
    """
    folder.mkdir()
    image = folder / "image.binpb"
    subprocess.run(["buf", "build", "-o", str(image)], cwd=HERE, check=True)
    files = [path.relative_to(HERE).as_posix() for path in sorted(SOURCES.rglob("*.proto"))]
    code = protoc.main(
        [
            "protoc",
            f"--descriptor_set_in={image}",
            f"--python_out={folder}",
            f"--grpc_python_out={folder}",
            f"--mypy_out=quiet:{folder}",
            f"--mypy_grpc_out=quiet:{folder}",
            *files,
        ]
    )
    if code:
        sys.exit(code)
    descriptions = json.dumps(comments(image.read_bytes()), indent=0, ensure_ascii=False)
    (folder / "heddle" / "descriptions.json").write_text(descriptions + "\n")
    image.unlink()
    for module in folder.rglob("*_pb2_grpc.py"):
        stubs = re.findall(r"^class (\w+)Stub:", module.read_text(), re.MULTILINE)
        if not stubs:  # a contract without a service
            module.unlink()
            module.with_suffix(".pyi").unlink()
            continue
        with module.open("a") as file:  # the types name a class that grpcio-tools does not write
            file.writelines(f"\n{name}AsyncStub = {name}Stub\n" for name in stubs)
    for package in {path.parent for path in folder.rglob("*.py")}:
        for parent in (package, *package.relative_to(folder).parents):
            (folder / parent / "__init__.py").touch()
    (folder / "__init__.py").unlink(missing_ok=True)
    (folder / "heddle" / "py.typed").touch()


def comments(image: bytes) -> dict[str, str]:
    """Return the comments of the contracts, which the generated Python lacks, by full name."""
    texts: dict[str, str] = {}
    for file in FileDescriptorSet.FromString(image).file:
        if not file.name.startswith("heddle/"):
            continue
        for location in file.source_code_info.location:
            if location.leading_comments and (name := _name(file, location.path)):
                lines = (line.strip() for line in location.leading_comments.splitlines())
                texts[name] = "\n".join(lines).strip()
    return texts


def _name(file: FileDescriptorProto, path: Sequence[int]) -> str:
    """Return the full name of a message, field or method; empty for anything else."""
    names: list[str] = [file.package]
    element: Any = file
    for number, index in zip(path[::2], path[1::2], strict=False):
        field = element.DESCRIPTOR.fields_by_number[number]
        if field.name not in {"message_type", "nested_type", "field", "service", "method"}:
            return ""
        element = getattr(element, field.name)[index]
        names.append(element.name)
    return ".".join(names) if len(path) % 2 == 0 else ""


def compare(fresh: Path, committed: Path) -> list[str]:
    """Return the names of files that are in one of the folders only, or differ."""
    ours, theirs = contents(fresh), contents(committed)
    return sorted(
        name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)
    )


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of `folder` by their path within it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


if __name__ == "__main__":
    sys.exit(main())
