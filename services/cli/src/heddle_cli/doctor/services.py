"""Checks of what services report: whether they work, their versions, and their models."""

from collections.abc import Iterable, Iterator, Sequence

from heddle.connector.v1.connector_pb2 import Connector, ListModelsResponse
from heddle_runtime.settings.addresses import is_local

from heddle_cli.doctor.findings import Finding, Result, explained
from heddle_cli.failures import listens
from heddle_cli.service_reports import Report

_PROVIDERS = "providers"
_CONNECT = "See “Connect a model” in the studio, or docs/guides/providers.md."


def port_findings(reports: Sequence[Report]) -> Iterator[Finding]:
    """Check that nothing else uses the ports of services on this machine."""
    free = []
    used = []
    for each in reports:
        if not is_local(each.address) or each.address.startswith("unix:"):
            continue
        if each.answers:
            used.append(each.address)
        elif listens(each.address):
            name = each.service.split()[0].upper()
            yield Finding(
                f"port of {each.service}",
                "wrong",
                f"Something else than a Heddle that answers uses {each.address}.",
                f"Stop that program, or choose another port with HEDDLE_{name}_LISTEN and "
                f"HEDDLE_{name}_ADDRESS. If it is Heddle, restart it.",
            )
        else:
            free.append(each.address)
    if used:
        yield Finding("ports", "ok", f"Heddle answers at {', '.join(used)}.")
    if free:
        yield Finding("ports", "ok", f"Free: {', '.join(free)}.")


def service_findings(reports: Sequence[Report]) -> Iterator[Finding]:
    """Check that services answer and that their components work."""
    silent = [each for each in reports if not each.answers]
    if reports and len(silent) == len(reports):
        yield Finding(
            "services",
            "wrong",
            "No service answers.",
            "Start Heddle with `make up`, or say where it runs: HEDDLE_TOOLS_ADDRESS and the "
            "others.",
        )
        return
    for each in reports:
        check = f"service {each.service}"
        if each.problem:
            yield explained(check, "wrong", each.problem)
        for component in each.components:
            if component.name == _PROVIDERS:
                continue  # their own check says more
            if component.problem or not component.ready:
                result: Result = "warning" if component.ready else "wrong"
                problem = component.problem or "is not ready"
                yield explained(f"{check}, {component.name}", result, problem)
    if ready := [each.service for each in reports if each.ready]:
        yield Finding("services", "ok", f"Ready: {', '.join(ready)}.")


def version_findings(own: str, reports: Sequence[Report]) -> Iterator[Finding]:
    """Check that all services have the version of this command."""
    versions: dict[str, list[str]] = {own: ["this command"]}
    for each in reports:
        if each.version:
            versions.setdefault(each.version, []).append(each.service)
    if len(versions) == 1:
        yield Finding("versions", "ok", f"All have {own}.")
        return
    text = "; ".join(f"{version}: {', '.join(names)}" for version, names in versions.items())
    remedy = "Install the same version everywhere and restart: see docs/guides/upgrades.md."
    yield Finding("versions", "wrong", f"They disagree. {text}.", remedy)


def model_findings(
    connectors: Iterable[Connector], listed: ListModelsResponse
) -> Iterator[Finding]:
    """Check that a model is connected and that the providers answer."""
    configured = {each.name for each in connectors if each.settings_source}
    for each in listed.problems:
        if each.connector in configured:
            remedy = f"Check its address and its key. {_CONNECT}"
            yield Finding(f"provider {each.connector}", "wrong", each.message, remedy)
    if listed.default_model:
        yield Finding("models", "ok", f"The default model is {listed.default_model}.")
    else:
        text = "There is no default model: assistants that use it quote what they find."
        yield Finding("models", "warning", text, f"Choose one. {_CONNECT}")
