"""Every image's install and start commands, as its Dockerfile writes them, in a clean folder."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from containers.files import SERVICES
from containers.image import BUILD, PATIENCE, Image, build, started

pytestmark = pytest.mark.timeout(BUILD + 2 * PATIENCE)

# The shared libraries that python:3.11-slim holds, of those that compiled packages ask for.
SLIM = {
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
    "libstdc++.so.6",
    "libutil.so.1",
    "libz.so.1",
    "linux-vdso.so.1",
}
# `heddle_connector.connectors.local.openmp` loads it from a wheel.
BUNDLED = {"libgomp.so.1": "zfpy.libs/libgomp-*"}


@pytest.fixture
def disk() -> Iterator[Path]:
    """A folder that is not in memory: an image would fill it, and uv links what it has there."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SERVICES)
def test_an_image_installs_starts_is_healthy_and_stops(
    name: str, disk: Path, tmp_path: Path
) -> None:
    extra = {"connector": "local", "knowledge": "pages"}.get(name, "")

    image = build(name, disk / "image", EXTRA=extra)

    assert missing_libraries(image) <= SLIM | bundled(image)
    assert not list(image.environment.glob("lib/*/site-packages/pytest"))
    home = tmp_path / "home"
    home.mkdir()
    with started(image, name, home) as address:
        # As often as the image asks: libraries of half a gigabyte may be loaded for the first time.
        assert any(image.healthy(address) for _ in range(3))
        assert not image.healthy(re.sub(r":\d+", ":1", address))


def bundled(image: Image) -> set[str]:
    """Return the libraries that packages of the image carry for others."""
    packages = image.environment.glob("lib/*/site-packages")
    [site] = [path for path in packages if path.is_dir()]
    return {library for library, pattern in BUNDLED.items() if list(site.glob(pattern))}


def missing_libraries(image: Image) -> set[str]:
    """Return the libraries that the image's packages expect of the system."""
    if sys.platform != "linux":
        return set()
    objects = [str(path) for path in image.environment.rglob("*.so*") if path.is_file()]
    ran = subprocess.run(  # noqa: S603 - our own arguments
        ["/usr/bin/ldd", *objects], capture_output=True, check=False, text=True, timeout=60
    )
    wanted: set[str] = set()
    for line in ran.stdout.splitlines():
        if line.startswith("\t") and not line.startswith("\tstatically linked"):
            name, _, found = line.strip().partition(" => ")
            if str(image.environment) not in found:
                wanted.add(Path(name.split()[0]).name)
    return wanted
