"""Checks that at least one model provider can be used."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

from heddle_runtime.errors import HeddleError
from heddle_runtime.errors.conditions import Condition
from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION

from heddle_connector.routing.model_catalogue import MAX_LIST_SECONDS, fetch_models
from heddle_connector.routing.offers import Offers
from heddle_connector.routing.tenant_connectors import TenantConnectors
from heddle_connector.sdk import Connector

_RECHECK_SECONDS = 30.0
_RECHECK_PROBLEM_SECONDS = 5.0


class ProviderCheck:
    """The check of the component `providers`, which asks the providers for their models.

    The service is ready if one of the operator's providers answers, in the environment or in the
    settings of the default organisation, or if an organisation uses a provider of its own.
    Connectors that need no provider's account are asked first.
    """

    def __init__(self, tenants: TenantConnectors, offers: Offers) -> None:
        self._tenants = tenants
        self._offers = offers
        self._condition = Condition()
        self._next = 0.0

    async def __call__(self) -> Condition:
        """Return the condition, which is checked again after a while."""
        if time.monotonic() >= self._next:
            self._condition = await self._check()
            pause = _RECHECK_PROBLEM_SECONDS if self._condition.problem else _RECHECK_SECONDS
            self._next = time.monotonic() + pause
        return self._condition

    async def _check(self) -> Condition:
        connectors = {
            name: each
            for name, each in self._tenants.registry.connectors.items()
            if each.plugin.uses_model
        }
        for name, each in connectors.items():
            if each.plugin.for_all_organizations and not await _problem(name, each):
                return Condition()
        problems = await _problems(connectors)
        if problems and (own := await self._of_settings(connectors)):
            problems = await _problems(connectors | own)
        if not problems:
            return Condition()
        text = "No model provider can be used. " + " ".join(sorted(problems))
        return Condition(text, ready=self._tenants.in_use, external=True)

    async def _of_settings(self, known: Mapping[str, Connector[Any]]) -> dict[str, Connector[Any]]:
        """Return the connectors with settings of the default organisation."""
        try:
            accessible = await self._offers.accessible(DEFAULT_ORGANIZATION, "")
        except HeddleError:
            return {}
        return {
            name: own
            for name, each in known.items()
            if (own := accessible[name].connector) is not None and own is not each
        }


async def _problems(connectors: Mapping[str, Connector[Any]]) -> Sequence[str]:
    """Return why no connector has models, nothing as soon as one has some."""
    asking = [asyncio.create_task(_problem(name, each)) for name, each in connectors.items()]
    problems: list[str] = []
    try:
        for answer in asyncio.as_completed(asking):
            if not (problem := await answer):
                return ()
            problems.append(problem)
    finally:
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
    return problems


async def _problem(name: str, connector: Connector[Any]) -> str:
    """Return why a connector has no models, empty if it has some."""
    listed = await fetch_models(name, connector, MAX_LIST_SECONDS)
    if listed.models:
        return ""
    diagnosis = listed.error.diagnosis if listed.error else ""
    return f"{name}: {diagnosis or listed.problem or 'The provider has no models.'}"
