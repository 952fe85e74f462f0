"""What the Dockerfile and the compose file say."""

import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
SERVICES = (
    "gateway",
    "orchestrator",
    "tools-service",
    "knowledge",
    "connector",
    "assistants",
    "migration-service",
)
REQUIRED = {
    "HEDDLE_IDENTITY_SECRET": "a-secret-of-at-least-32-characters",
    "HEDDLE_GATEWAY_API_KEY": "lamb_a-key-for-the-gateway",
}


def read_compose() -> dict[str, Any]:
    """Return the compose file as it is written, anchors resolved and variables not."""
    content = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    assert isinstance(content, dict)
    return content


def service(name: str) -> dict[str, Any]:
    """Return one service of the compose file."""
    found = read_compose()["services"][name]
    assert isinstance(found, dict)
    return found


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of a Dockerfile, its lines joined."""

    name: str
    text: str


def stages() -> tuple[list[Instruction], list[Instruction], list[Instruction]]:
    """Return the instructions of the stages `studio` and `builder`, and of the one that remains."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    joined = re.sub(r"\\\n\s*", " ", text)
    instructions = [
        Instruction(*line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()
    ]
    starts = [index for index, found in enumerate(instructions) if found.name == "FROM"]
    studio, builder, final = starts
    return instructions[studio:builder], instructions[builder:final], instructions[final:]


def command(name: str) -> str:
    """Return the path of a program of the project's environment, or of the machine."""
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    found = shutil.which(name, path=beside)
    assert found is not None, f"{name} is not installed"
    return found
