"""The report of a run, which is printed at its end."""

import pytest
from chaos.report import Report
from shared_servers import object_server, shared_servers, vector_server

__all__ = ["object_server", "report", "shared_servers", "vector_server"]
_REPORT = pytest.StashKey[Report]()


def pytest_configure(config: pytest.Config) -> None:
    """Begin a report."""
    config.stash[_REPORT] = Report()


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Report:
    """The report that all scenarios fill."""
    return request.config.stash[_REPORT]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the table."""
    if (report := config.stash.get(_REPORT, None)) is not None and report.rows:
        terminalreporter.section("chaos")
        terminalreporter.write_line(report.table())
