"""`heddle health`."""

from collections.abc import Iterator

import typer

from heddle_cli.options import AsJson
from heddle_cli.service_reports import Report, reports
from heddle_cli.terminal import show

_READY = "ready"
_MEMBERS = ("service", "name", "ready", "summary", "problem")
Row = tuple[str, str, str, str, str]


def health(*, as_json: AsJson = False) -> None:
    """List what the services need: service, component, state, summary, problem.

    Each replica of a service is asked. The exit code is 1 if one of them is not ready.
    """
    rows = [row for each in reports() for row in _rows(each)]
    members = [dict(zip(_MEMBERS, row, strict=True)) for row in rows]
    components = [{**each, "ready": each["ready"] == _READY} for each in members]
    show({"components": components}, rows, as_json=as_json)
    if any(state != _READY for _, _, state, *_ in rows):
        raise typer.Exit(1)


def _rows(report: Report) -> Iterator[Row]:
    yield report.service, "", _state(report.ready), "", report.problem
    for each in report.components:
        yield report.service, each.name, _state(each.ready), each.summary, each.problem


def _state(ready: bool) -> str:  # noqa: FBT001 - what it says
    return _READY if ready else "not ready"
