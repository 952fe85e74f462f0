"""`heddle doctor`."""

from collections.abc import Iterator
from importlib.metadata import version

import typer
from heddle.connector.v1 import connector_pb2
from heddle.connector.v1.connector_pb2_grpc import ConnectorServiceStub
from heddle_runtime.errors import HeddleError

from heddle_cli.connections import connected
from heddle_cli.doctor.findings import Finding
from heddle_cli.doctor.gateway import gateway_finding
from heddle_cli.doctor.local import database_findings, disk_findings, secret_findings
from heddle_cli.doctor.services import (
    model_findings,
    port_findings,
    service_findings,
    version_findings,
)
from heddle_cli.failures import sentence
from heddle_cli.options import AsJson
from heddle_cli.pages import whole
from heddle_cli.service_reports import reports
from heddle_cli.terminal import out, plain, show

_STYLES = {"ok": "green", "warning": "yellow", "wrong": "red"}
_SECONDS = 30.0


def doctor(*, as_json: AsJson = False) -> None:
    """Say what is wrong with the installation of the settings in the environment, and what to do.

    Checks disk, database, secrets, ports, services and their versions, model providers and the
    gateway. The output has no secrets. The exit code is 1 if something is wrong.
    """
    findings = []
    for each in _checks():
        findings.append(each)
        if not as_json:
            _print(each)
    wrong = [each for each in findings if each.result == "wrong"]
    if as_json:
        show({"findings": [each.members() for each in findings]}, (), as_json=True)
    elif wrong:
        out.print(f"\n{len(wrong)} of {len(findings)} checks found something wrong.", style="bold")
    else:
        out.print("\nNothing is wrong.", style="bold")
    if wrong:
        raise typer.Exit(1)


def _print(finding: Finding) -> None:
    out.print(f"{finding.result:<8}", style=_STYLES[finding.result], end="")
    out.print(plain(f"{finding.check}: {' '.join(finding.finding.split())}"))
    if finding.remedy:
        out.print(plain(f"{'':8}→ {' '.join(finding.remedy.split())}"), style="dim")


def _checks() -> Iterator[Finding]:
    yield from disk_findings()
    yield from database_findings()
    yield from secret_findings()
    answers = reports()
    yield from port_findings(answers)
    yield from service_findings(answers)
    yield from version_findings(version("heddle-cli"), answers)
    if any(each.service.startswith("connector") and each.answers for each in answers):
        yield from _model_findings()
    yield gateway_finding()


def _model_findings() -> Iterator[Finding]:
    request = connector_pb2.ListConnectorsRequest()
    try:
        with connected("connector", ConnectorServiceStub) as connection:
            connectors = whole(connection.stub.ListConnectors, request).connectors
            listed = whole(connection.stub.ListModels, connector_pb2.ListModelsRequest(), _SECONDS)
    except HeddleError as error:
        yield Finding("models", "wrong", sentence(error), "See docs/guides/providers.md.")
        return
    yield from model_findings(connectors, listed)
