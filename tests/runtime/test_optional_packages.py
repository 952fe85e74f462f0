"""What services do not load."""

import subprocess
import sys

import pytest

TERMINAL = {"rich", "pygments", "colorama", "typer"}
SERVICES = {"heddle_assistants", "heddle_gateway", "heddle_knowledge"}
PRINT = "print(*{name.partition('.')[0] for name in sys.modules})"


@pytest.mark.exhaustive
def test_no_service_loads_a_package_for_terminals() -> None:
    modules = ", ".join(f"{service}.__main__" for service in sorted(SERVICES))
    ran = subprocess.run(  # noqa: S603 - our own modules
        [sys.executable, "-c", f"import sys, {modules}; {PRINT}"],
        check=True,
        capture_output=True,
        text=True,
    )
    loaded = set(ran.stdout.split())
    assert {"structlog", *SERVICES} <= loaded
    assert not loaded & TERMINAL


def test_the_command_of_operators_still_draws() -> None:
    program = "import heddle_cli.__main__, rich.table; rich.print(rich.table.Table('a'))"
    ran = subprocess.run(  # noqa: S603 - our own module
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert "a" in ran.stdout
