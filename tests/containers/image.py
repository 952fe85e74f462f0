"""An image without a container engine: its commands, run in a clean folder."""

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from containers.files import REQUIRED, SERVICES, service
from runtime.ports import free_port

from docs.project.images import MAX_SECONDS, SHELL, build_arguments, install, stages

BUILD, PATIENCE = MAX_SECONDS, 180.0
"""Seconds for an installation, and for a start or a health check: a slow machine reads half a
gigabyte from a cold disk."""


@dataclass(frozen=True, slots=True)
class Image:
    """What the build leaves behind: an environment, and the arguments it was built with."""

    environment: Path
    arguments: dict[str, str]

    def path(self) -> dict[str, str]:
        """Return the variables of the image: its programs first, no configuration from outside."""
        kept = {name: os.environ[name] for name in ("LANG", "HOME") if name in os.environ}
        return kept | {
            "PATH": f"{self.environment / 'bin'}{os.pathsep}{os.defpath}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUNBUFFERED": "1",
        }

    def healthy(self, address: str) -> bool:
        """Run the image's own health check."""
        (check,) = (found.text for found in stages()[-1] if found.name == "HEALTHCHECK")
        ran = subprocess.run(  # noqa: S603 - the image's own command
            [SHELL, "-c", check.partition("CMD ")[2]],
            capture_output=True,
            check=False,
            cwd="/",
            env=self.path() | {"HEALTH": address},
            timeout=PATIENCE,
        )
        return ran.returncode == 0


def build(name: str, folder: Path, **changed: str) -> Image:
    """Install the environment of an image in `folder`."""
    arguments = build_arguments(name) | changed
    return Image(install(arguments, folder), arguments)


@contextmanager
def started(image: Image, name: str, folder: Path) -> Iterator[str]:
    """Run the image's start command, and yield, once it is healthy, what its health check asks."""
    own, port = _own_address(name), free_port()
    settings = {own: f"127.0.0.1:{port}"}
    for variable, value in service(name)["environment"].items():
        target = folder / variable
        if variable.endswith("_FILE") and value is not None:  # a secret that Compose mounts
            target.write_text(f"{REQUIRED[variable.removesuffix('_FILE')]}\n")
            settings[variable] = str(target)
        elif value is not None and value.startswith("/"):  # a folder that Compose mounts
            target.mkdir(exist_ok=True)
            settings[variable] = str(target)
    (line,) = (each.text for each in stages()[-1] if each.name == "CMD")
    log = folder / "log"
    with (
        log.open("wb") as output,
        subprocess.Popen(  # noqa: S603 - the image's own command
            [SHELL, "-c", line],
            cwd=folder,
            env=image.path()
            | {"HOME": str(folder), "MODULE": image.arguments["MODULE"]}
            | settings,
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        address = re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{port}", image.arguments["HEALTH"])
        try:
            _wait_until_healthy(image, address, process, log)
            yield address
            process.terminate()
            assert process.wait(timeout=40) == 0, log.read_text()[-4000:]
        finally:
            process.kill()


def _wait_until_healthy(
    image: Image, address: str, process: "subprocess.Popen[bytes]", log: Path
) -> None:
    until = time.monotonic() + PATIENCE
    while not image.healthy(address):
        assert process.poll() is None, log.read_text()[-4000:]
        assert time.monotonic() < until, f"not healthy at {address}: {log.read_text()[-4000:]}"
        time.sleep(0.1)


def _own_address(name: str) -> str:
    assert name in SERVICES
    (own,) = (
        variable
        for variable, value in service(name)["environment"].items()
        if value is not None and value.startswith("0.0.0.0:")
    )
    return str(own)
