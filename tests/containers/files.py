"""What the compose file says of services."""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

from docs.project.images import read_compose

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


def service(name: str) -> dict[str, Any]:
    """Return one service of the compose file."""
    content = read_compose()["services"][name]
    assert isinstance(content, dict)
    return content


def command(name: str) -> str:
    """Return the path of a program of the project's environment, or of the machine."""
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    path = shutil.which(name, path=beside)
    assert path is not None, f"{name} is not installed"
    return path
