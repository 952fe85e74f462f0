"""Threat 24: packages that were replaced, or that run code when any Python process starts."""

import re
import sysconfig
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOCK = tomllib.loads((ROOT / "uv.lock").read_text())
PACKAGES = [each for each in LOCK["package"] if not set(each["source"]) & {"editable", "virtual"}]
STARTING = {"distutils-precedence.pth"}
"""Of setuptools, which development tools need."""
_HASH = re.compile(r"sha256:[0-9a-f]{64}")


def test_every_locked_file_has_a_hash() -> None:
    assert len(PACKAGES) > 200
    for package in PACKAGES:
        files = [*package.get("wheels", ()), *filter(None, [package.get("sdist")])]
        assert files, package["name"]
        assert all(_HASH.fullmatch(file["hash"]) for file in files), package["name"]


def test_packages_come_from_one_registry_and_no_repository() -> None:
    assert {tuple(package["source"]) for package in PACKAGES} == {("registry",)}
    assert len({package["source"]["registry"] for package in PACKAGES}) == 1


def test_no_package_runs_code_at_the_start_of_every_process() -> None:
    running = {
        file.name
        for file in Path(sysconfig.get_path("purelib")).glob("*.pth")
        if any(line.startswith(("import ", "import\t")) for line in file.read_text().splitlines())
    }
    assert running <= STARTING


def test_images_install_the_locked_packages_only() -> None:
    installs = [
        line for line in (ROOT / "Dockerfile").read_text().splitlines() if "uv sync" in line
    ]
    assert installs
    assert all("--frozen" in line for line in installs)


def test_litellm_is_no_dependency_of_a_service() -> None:
    """It comes with the extra of the strategy `agent_dspy`, which no image installs."""
    by_name = {package["name"]: package for package in LOCK["package"]}
    reached: set[str] = set()
    pending = [package["name"] for package in LOCK["package"] if "editable" in package["source"]]
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            pending += [each["name"] for each in by_name[name].get("dependencies", [])]
    assert {"heddle-gateway", "grpcio"} <= reached
    assert "litellm" not in reached
