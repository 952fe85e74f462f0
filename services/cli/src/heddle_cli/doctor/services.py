"""Checks of what services report: whether they work, their versions, and their models."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from heddle_runtime.settings.addresses import is_local

from heddle_cli.doctor.findings import Finding, Result, explained
from heddle_cli.failures import listens
from heddle_cli.service_reports import Report

_PROVIDERS = "providers"
_EMBEDDED = "local"
_WITHOUT_SETTINGS = "ollama"
_NOT_SET_UP = "is not set up"
_CONNECT = "Connect one in the studio under Models, or as docs/guides/providers.md says."


@dataclass(frozen=True, slots=True)
class Models:
    """What a connector offers."""

    connector: str
    debugging: bool
    """Whether it shows prompts instead of asking a model."""
    count: int
    problem: str
    """Why it cannot list its models, else empty."""


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
            "others, or --gateway.",
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


def model_findings(connectors: Sequence[Models]) -> Iterator[Finding]:
    """Check that a model is connected and that the providers answer."""
    usable = [each for each in connectors if each.count and not each.debugging]
    connected = [each for each in usable if each.connector != _EMBEDDED]
    for each in connectors:
        if not each.problem or _NOT_SET_UP in each.problem:
            continue
        by_itself = each.connector == _WITHOUT_SETTINGS
        remedy = (
            "Start Ollama if you want to use it; otherwise nothing is to be done."
            if by_itself
            else "Check the address and the key of the provider in the studio or in the settings: "
            "see docs/guides/providers.md."
        )
        result: Result = "warning" if by_itself else "wrong"
        yield Finding(f"provider {each.connector}", result, each.problem, remedy)
    if connected:
        names = ", ".join(f"{each.connector} ({each.count})" for each in connected)
        yield Finding("models", "ok", f"Connected: {names}.")
    elif usable:
        text = "No model is connected: only the small demonstration model, which is often wrong."
        yield Finding("models", "warning", text, _CONNECT)
    else:
        yield Finding("models", "wrong", "No model can answer.", _CONNECT)
