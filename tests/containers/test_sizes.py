"""The sizes of the images' environments, and that nothing is missing in them."""

import importlib.machinery
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from containers.image import BUILD, PATIENCE

from docs.project.images import build_arguments, install
from docs.project.sizes import LIMITS, megabytes
from docs.project.slim import SOURCES, TESTS, UNTOUCHED, UNUSED, libraries, unused

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(BUILD + PATIENCE)]
LOADING = Path(__file__).with_name("loading.py")
# Loaded only by processes that draw graphs.
NEEDS_EXTRAS = {
    ("knowledge", ""): {
        "heddle_knowledge.graph.entity_graph",
        "heddle_knowledge.graph.entity_graph_worker",
    }
}
NEEDS_GATEWAY = tuple(
    f"heddle_migration_service.{each}"
    for each in ("gateway_extension", "knowledge_server", "proxy", "rest")
)
"""What the gateway alone loads of the optional member. No image with a limit has a gateway."""
OF_OTHERS = {
    "tools-service": (
        "heddle_migration_service.knowledge_extension",
        "heddle_migration_service.searches",
        "heddle_runtime.storage.database",
    ),
    "knowledge": ("heddle_migration_service.tool_formats",),
}
"""What only other services load."""


@pytest.fixture(scope="module", params=LIMITS, ids=" ".join)
def environment(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[tuple[str, str], Path]:
    """An image's service and extras, and its environment."""
    service, extras = request.param
    arguments = build_arguments(service) | {"EXTRA": extras}
    return request.param, install(arguments, tmp_path_factory.mktemp("image") / "built")


def test_an_environment_is_not_larger_than_its_limit(
    environment: tuple[tuple[str, str], Path],
) -> None:
    variant, folder = environment

    assert 50 < megabytes(folder) <= LIMITS[variant]


def test_each_module_of_an_image_loads_as_it_does_for_developers(
    environment: tuple[tuple[str, str], Path], tmp_path: Path
) -> None:
    variant, folder = environment
    packages = site_packages(folder)
    names = [*compiled_modules(packages), *own_modules(packages)]
    here = set(not_loaded(Path(sys.executable), names, tmp_path))
    image = set(not_loaded(folder / "bin" / "python", names, tmp_path))

    assert len(names) > 100
    elsewhere = NEEDS_GATEWAY + OF_OTHERS[variant[0]]
    unused = {name for name in names if name.startswith(elsewhere)}
    assert image - unused == (here | NEEDS_EXTRAS.get(variant, set())) - unused


def test_the_image_has_the_command_of_operators(
    environment: tuple[tuple[str, str], Path],
) -> None:
    _, folder = environment
    ran = subprocess.run(  # noqa: S603 - the image's own command
        [folder / "bin" / "heddle", "keys", "--help"],
        capture_output=True,
        check=True,
        text=True,
        timeout=PATIENCE,
    )

    assert "create" in ran.stdout


def test_nothing_remains_of_what_no_service_reads(
    environment: tuple[tuple[str, str], Path],
) -> None:
    _, folder = environment

    assert list(unused(site_packages(folder))) == []


def test_every_rule_of_what_is_removed_names_something_that_is_installed() -> None:
    packages = site_packages(Path(sys.prefix))

    for pattern in UNUSED:
        assert list(packages.glob(pattern)), pattern
    for name in TESTS:
        assert list(packages.glob(f"*/**/{name}")), name
    for suffix in SOURCES:
        assert list(packages.glob(f"*/**/*{suffix}")), suffix
    for name in UNTOUCHED:
        assert list(packages.glob(name)), name
    assert list(libraries(packages))


def site_packages(environment: Path) -> Path:
    (packages,) = environment.glob("lib/python3.*/site-packages")
    return packages


def compiled_modules(packages: Path) -> Iterator[str]:
    suffixes = tuple(importlib.machinery.EXTENSION_SUFFIXES)
    for path in sorted(packages.rglob("*.so")):
        parts = path.relative_to(packages).parts
        if path.name.endswith(suffixes):
            yield ".".join([*parts[:-1], path.name.partition(".")[0]])


def own_modules(packages: Path) -> Iterator[str]:
    for path in sorted(packages.glob("heddle*/**/*.py")):
        parts = path.relative_to(packages).with_suffix("").parts
        if parts[-1] != "__main__":
            yield ".".join(parts)


def not_loaded(python: Path, names: list[str], folder: Path) -> list[str]:
    ran = subprocess.run(  # noqa: S603 - our own script
        [python, LOADING],
        input="\n".join(names),
        capture_output=True,
        check=True,
        cwd=folder,
        text=True,
        timeout=PATIENCE,
    )
    failed: list[str] = json.loads(ran.stdout)
    return failed
