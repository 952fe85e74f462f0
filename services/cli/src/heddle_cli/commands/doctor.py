"""`heddle doctor`."""

import os
from collections.abc import Iterator
from importlib.metadata import version
from typing import Annotated

import typer
from heddle.connector.v1 import connector_pb2
from heddle.connector.v1.connector_pb2_grpc import ConnectorServiceStub
from heddle_runtime.errors import HeddleError, InvalidRequestError
from heddle_runtime.settings.secret_files import SecretFileError, secret_in_file

from heddle_cli.connections import connected
from heddle_cli.doctor.findings import Finding
from heddle_cli.doctor.gateway import (
    Gateway,
    gateway_findings,
    gateway_models,
    gateway_reports,
)
from heddle_cli.doctor.local import database_findings, disk_findings, secret_findings
from heddle_cli.doctor.services import (
    Models,
    model_findings,
    port_findings,
    service_findings,
    version_findings,
)
from heddle_cli.failures import sentence
from heddle_cli.options import AsJson
from heddle_cli.pages import whole
from heddle_cli.service_reports import addresses, reports
from heddle_cli.terminal import out, plain, show

_KEY = "HEDDLE_GATEWAY_API_KEY"
_LISTEN, _DEFAULT_LISTEN = "HEDDLE_GATEWAY_LISTEN", "127.0.0.1:8080"
_STYLES = {"ok": "green", "warning": "yellow", "wrong": "red"}
_SECONDS = 30.0


def doctor(
    *,
    gateway: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="The address of a gateway elsewhere, as https://heddle.example.org. By default, "
            "the installation of the settings in the environment is checked.",
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Say what is wrong with an installation, and what to do.

    Checks ports, disk, database, secrets, services and their versions, model providers, gateway and
    clock; of a gateway elsewhere, what it tells. The API key for it is HEDDLE_GATEWAY_API_KEY, or
    in the file HEDDLE_GATEWAY_API_KEY_FILE. The output has no secrets. The exit code is 1 if
    something is wrong.
    """
    key = _api_key()
    checks = _remote(Gateway(gateway, key)) if gateway else _local(Gateway(_own_gateway(), key))
    findings = []
    for each in checks:
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


def _local(gateway: Gateway) -> Iterator[Finding]:
    yield from disk_findings()
    yield from database_findings()
    yield from secret_findings()
    answers = reports(addresses())
    yield from port_findings(answers)
    yield from service_findings(answers)
    yield from version_findings(version("heddle-cli"), answers)
    if any(each.service.startswith("connector") and each.answers for each in answers):
        yield from _model_findings()
    yield from gateway_findings(gateway)


def _remote(gateway: Gateway) -> Iterator[Finding]:
    of_gateway = list(gateway_findings(gateway))
    yield from of_gateway
    if of_gateway[0].result == "wrong":
        return
    answers = gateway_reports(gateway)
    yield from service_findings(answers)
    yield from version_findings(version("heddle-cli"), answers)
    if models := gateway_models(gateway):
        yield from model_findings(models)


def _model_findings() -> Iterator[Finding]:
    try:
        with connected(addresses()["connector"], ConnectorServiceStub) as connection:
            installed = whole(
                connection.stub.ListConnectors, connector_pb2.ListConnectorsRequest()
            ).connectors
            request = connector_pb2.ListModelsRequest()
            listed = whole(connection.stub.ListModels, request, _SECONDS)
    except HeddleError as error:
        yield Finding("models", "wrong", sentence(error), "See docs/guides/providers.md.")
        return
    problems = {each.connector: each.message for each in listed.problems}
    models = [each.ref.connector for each in listed.models]
    yield from model_findings(
        [
            Models(each.name, each.debugging, models.count(each.name), problems.get(each.name, ""))
            for each in installed
        ]
    )


def _own_gateway() -> str:
    listen = os.environ.get(_LISTEN) or _DEFAULT_LISTEN
    return f"http://{listen.replace('0.0.0.0', '127.0.0.1')}"  # noqa: S104 - nothing is bound


def _api_key() -> str:
    try:
        return secret_in_file(_KEY) or os.environ.get(_KEY, "")
    except SecretFileError as error:
        raise InvalidRequestError(str(error)) from None
