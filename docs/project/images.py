"""Reads the Dockerfile and the compose file, and installs environments without an engine."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
SHELL = "/bin/sh"  # what RUN and CMD use
MAX_SECONDS = 600.0
"""For one command of a build: a slow machine reads half a gigabyte from a cold disk."""
_NOT_COPIED = shutil.ignore_patterns("__pycache__", "*.pyc", ".*_cache", ".venv")
_DEFAULT = re.compile(r"\$\{\w+:?-(?P<value>[^}]*)\}")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of a Dockerfile, its lines joined."""

    name: str
    text: str


def stages() -> tuple[list[Instruction], ...]:
    """Return the instructions of each stage: `studio`, `documentation`, `builder`, the image."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    joined = re.sub(r"\\\n\s*", " ", text)
    instructions = [
        Instruction(*line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()
    ]
    starts = [index for index, each in enumerate(instructions) if each.name == "FROM"]
    return tuple(
        instructions[start:end]
        for start, end in zip(starts, [*starts[1:], len(instructions)], strict=True)
    )


def read_compose() -> dict[str, Any]:
    """Return the compose file as it is written, anchors resolved and variables not."""
    content: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return content


def build_arguments(service: str) -> dict[str, str]:
    """Return the arguments of a service's image, with the defaults of variables."""
    arguments = read_compose()["services"][service]["build"]["args"]
    return {"EXTRA": ""} | {
        name: _DEFAULT.sub(lambda match: match["value"], str(value))
        for name, value in arguments.items()
    }


def install(arguments: dict[str, str], folder: Path) -> Path:
    """Follow the builder's instructions in `folder`, and return the environment that it copies.

    The web application and Debian's packages are left out.
    """
    source, environment = folder / "src", folder / "environment"
    source.mkdir(parents=True)
    variables = os.environ | arguments
    for instruction in stages()[2]:
        if instruction.name == "ENV":
            variables |= dict(pair.split("=", 1) for pair in instruction.text.split())
            variables["UV_PROJECT_ENVIRONMENT"] = str(environment)
        elif instruction.name == "COPY" and not instruction.text.startswith("--from"):
            _copy(instruction.text, source)
        elif instruction.name == "RUN" and re.search(r"uv sync|slim\.py", instruction.text):
            _run(re.sub(r"^(--mount=\S+\s+)+", "", instruction.text), source, variables)
    shutil.rmtree(source)  # the image has no sources
    return environment


def _run(line: str, folder: Path, variables: dict[str, str]) -> None:
    programs = [str(Path(uv()).parent), str(Path(sys.executable).parent), variables["PATH"]]
    variables = variables | {"PATH": os.pathsep.join(programs)}
    variables.pop("VIRTUAL_ENV", None)
    ran = subprocess.run(  # noqa: S603 - the Dockerfile's own command
        [SHELL, "-ec", line],
        capture_output=True,
        check=False,
        cwd=folder,
        env=variables,
        text=True,
        timeout=MAX_SECONDS,
    )
    if ran.returncode:
        raise RuntimeError(f"{line}: {ran.stderr}")


def uv() -> str:
    """Return the path of uv."""
    ours = ROOT / ".heddle" / "uv" / "bin" / "uv"
    path = str(ours) if ours.exists() else shutil.which("uv")
    if path is None:
        raise RuntimeError("uv is missing: run `make install`")
    return path


def _copy(text: str, target: Path) -> None:
    *sources, into = text.split()
    for name in sources:
        origin = ROOT / name
        if origin.is_dir():
            shutil.copytree(origin, target / into, ignore=_NOT_COPIED, dirs_exist_ok=True)
        else:
            (target / into).mkdir(parents=True, exist_ok=True)
            shutil.copy(origin, target / into)
