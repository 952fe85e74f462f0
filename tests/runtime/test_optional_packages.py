"""What services do not load."""

import subprocess
import sys

import pytest

TERMINAL = {"rich", "pygments", "colorama", "typer"}
PRINT = "import sys, {}.__main__; print(*{{name.partition('.')[0] for name in sys.modules}})"


@pytest.mark.parametrize("module", ["heddle_assistants", "heddle_gateway", "heddle_knowledge"])
def test_a_service_loads_no_package_for_terminals(module: str) -> None:
    ran = subprocess.run(  # noqa: S603 - our own module
        [sys.executable, "-c", PRINT.format(module)], check=True, capture_output=True, text=True
    )
    loaded = set(ran.stdout.split())
    assert {"structlog", module} <= loaded
    assert not loaded & TERMINAL


def test_the_command_of_operators_still_draws() -> None:
    program = "import heddle_cli.__main__, rich.table; rich.print(rich.table.Table('a'))"
    ran = subprocess.run(  # noqa: S603 - our own module
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert "a" in ran.stdout
