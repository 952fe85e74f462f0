"""What the compose file says of services."""

import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from docs.project.images import ROOT, read_compose

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


@cache
def services() -> dict[str, dict[str, Any]]:
    """Return the services of the compose file."""
    content: dict[str, dict[str, Any]] = read_compose()["services"]
    return content


def service(name: str) -> dict[str, Any]:
    """Return one service of the compose file."""
    return services()[name]


def command(name: str) -> str:
    """Return the path of a program of the project's environment, or of the machine."""
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    path = shutil.which(name, path=beside)
    assert path is not None, f"{name} is not installed"
    return path


def compose(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Compose itself, which checks the file with its schema before it does anything."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("HEDDLE_")}
    return subprocess.run(  # noqa: S603 - our own arguments
        [command("docker-compose"), "--file", str(ROOT / "docker-compose.yml"), *arguments],
        capture_output=True,
        check=False,
        env=outside | environment,
        text=True,
        timeout=60,
    )


def accepted_by_compose(override: object) -> None:
    """Make sure that Compose accepts what is written into a file beside its own."""
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        yaml.safe_dump(override, file)
        ran = compose("--file", file.name, "--profile", "*", "config", "--quiet")
    assert (ran.returncode, ran.stderr) == (0, "")
