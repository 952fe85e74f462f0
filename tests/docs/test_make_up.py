"""`make up` loads examples, but not into an installation that takes over LAMB's assistants."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = {"HEDDLE_ASSISTANTS_DIR", "HEDDLE_TOOLS_PLUGINS_DIR", "HEDDLE_DEVSTACK_EXAMPLES"}


def exported(**environment: str) -> set[str]:
    """Return the variables of the examples that `make up` would set."""
    command = ["make", "--print-data-base", "--question", "up"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HEDDLE_")}
    printed = subprocess.run(  # noqa: S603 - the command of this repository
        command, cwd=ROOT, env=clean | environment, capture_output=True, text=True, check=False
    )
    lines = printed.stdout.splitlines()
    return {name for name in EXAMPLES if any(line.startswith(f"up: {name} =") for line in lines)}


def test_make_up_loads_the_examples() -> None:
    assert exported() == EXAMPLES


@pytest.mark.parametrize(
    "variable", ["HEDDLE_MIGRATION_LAMB_DATABASE", "HEDDLE_LAMB_DATABASE", "HEDDLE_LAMB_URL"]
)
def test_make_up_leaves_the_examples_out_if_lamb_is_set_up(variable: str) -> None:
    assert exported(**{variable: "/srv/lamb/lamb_v4.db"}) == set()
