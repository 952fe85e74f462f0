"""An image without a container engine: its commands, run in a clean folder."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from containers.files import REQUIRED, ROOT, SERVICES, command, service, stages
from runtime.ports import free_port

SHELL = "/bin/sh"  # what RUN and CMD use
BUILD, PATIENCE = 600.0, 180.0
"""Seconds for an installation, and for a start or a health check: a slow machine reads half a
gigabyte from a cold disk."""
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", ".*_cache", ".venv")


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
        (check,) = (found.text for found in stages()[2] if found.name == "HEALTHCHECK")
        ran = subprocess.run(  # noqa: S603 - the image's own command
            [SHELL, "-c", check.partition("CMD ")[2]],
            capture_output=True,
            check=False,
            cwd="/",
            env=self.path() | {"HEALTH": address},
            timeout=PATIENCE,
        )
        return ran.returncode == 0


def build(name: str, folder: Path, **arguments: str) -> Image:
    """Follow the builder's COPY and `RUN uv sync` instructions in `folder`."""
    given = {key: str(value) for key, value in service(name)["build"]["args"].items()}
    given |= arguments
    given["EXTRA"] = given.get("EXTRA", "")
    source, environment = folder / "src", folder / "environment"
    source.mkdir(parents=True)
    # The commands find uv and everything else where they do in the builder; its compilation and
    # its copies are left out, which cost minutes and change nothing that is looked at here.
    variables = dict(os.environ) | given | {"UV_PROJECT_ENVIRONMENT": str(environment)}
    variables["PATH"] = f"{Path(_uv()).parent}{os.pathsep}{variables['PATH']}"
    variables.pop("VIRTUAL_ENV", None)
    for instruction in stages()[1]:
        if instruction.text.startswith("--from=studio"):
            continue  # optional: the gateway works without its web application
        if instruction.name == "COPY":
            _copy(instruction.text, source)
        elif "uv sync" in instruction.text:
            line = re.sub(r"^(--mount=\S+\s+)+", "", instruction.text)
            ran = subprocess.run(  # noqa: S603 - the Dockerfile's own command
                [SHELL, "-ec", line],
                capture_output=True,
                check=False,
                cwd=source,
                env=variables,
                text=True,
                timeout=BUILD,
            )
            assert ran.returncode == 0, ran.stderr
    shutil.rmtree(source)  # the image has no sources
    return Image(environment, given)


@contextmanager
def started(image: Image, name: str, folder: Path) -> Iterator[str]:
    """Run the image's start command, and yield, once it is healthy, what its health check asks."""
    own, port = _own_address(name), free_port()
    settings = REQUIRED | {own: f"127.0.0.1:{port}"}
    for variable, value in service(name)["environment"].items():
        if value is not None and value.startswith("/"):  # a folder that Compose mounts
            target = folder / variable
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


def _uv() -> str:
    ours = ROOT / ".heddle" / "uv" / "bin" / "uv"
    return str(ours) if ours.exists() else command("uv")


def _copy(text: str, target: Path) -> None:
    *sources, into = text.split()
    for given in sources:
        origin = ROOT / given
        if origin.is_dir():
            shutil.copytree(origin, target / into, ignore=_LEFT_OUT, dirs_exist_ok=True)
        else:
            (target / into).mkdir(parents=True, exist_ok=True)
            shutil.copy(origin, target / into)


def _own_address(name: str) -> str:
    assert name in SERVICES
    (own,) = (
        variable
        for variable, value in service(name)["environment"].items()
        if value is not None and value.startswith("0.0.0.0:")
    )
    return str(own)
