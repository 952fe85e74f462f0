"""The model catalogue: asks all providers for their models in parallel, and caches the answers."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import structlog
from heddle_runtime.errors import DeadlineError, HeddleError

from heddle_connector.sdk import Connector, Model

MAX_LIST_SECONDS = 3.0
"""The time limit for a provider to list its models."""
_CACHE_SECONDS = 60.0
_PROBLEM_CACHE_SECONDS = 5.0  # short, because someone may be fixing the problem
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ModelList:
    """The models of one connector, or the reason why there are none."""

    connector: str
    models: Sequence[Model] = ()
    problem: str = ""
    error: HeddleError | None = None
    """The cause, unless it is in third-party code."""


@dataclass(frozen=True, slots=True)
class Access:
    """A connector that a caller may use, or the reason why the caller may not."""

    connector: Connector[Any] | None
    allowed_models: frozenset[str] = frozenset()
    """The models that the caller may use. Empty: all."""
    problem: str = ""


class ModelCatalogue:
    """Asks the connectors for their models."""

    def __init__(self) -> None:
        # Keyed by connector object: each organisation has connectors of its own.
        self._cache: WeakKeyDictionary[Connector[Any], tuple[float, ModelList]]
        self._cache = WeakKeyDictionary()

    async def list_models(
        self, connectors: Mapping[str, Access], seconds: float
    ) -> Sequence[ModelList]:
        """Return the models of connectors.

        Args:
            connectors: What the caller may use, by connector name.
            seconds: The time limit of the call; a provider gets at most three seconds of it.
        """
        limit = min(MAX_LIST_SECONDS, seconds)
        return await asyncio.gather(
            *(self._allowed(name, access, limit) for name, access in connectors.items())
        )

    async def _allowed(self, name: str, access: Access, seconds: float) -> ModelList:
        if access.connector is None:
            return ModelList(name, problem=access.problem)
        models = await self._cached(name, access.connector, seconds)
        if not access.allowed_models:
            return models
        allowed = [model for model in models.models if model.name in access.allowed_models]
        return replace(models, models=allowed)

    async def _cached(self, name: str, connector: Connector[Any], seconds: float) -> ModelList:
        expires, cached = self._cache.get(connector, (0.0, None))
        if cached is not None and time.monotonic() < expires:
            return cached
        models = await fetch_models(name, connector, seconds)
        lifetime = _PROBLEM_CACHE_SECONDS if models.problem else _CACHE_SECONDS
        self._cache[connector] = (time.monotonic() + lifetime, models)
        return models


async def fetch_models(name: str, connector: Connector[Any], seconds: float) -> ModelList:
    """Ask a provider for its models within `seconds`; a failure is a part of the result."""
    try:
        async with asyncio.timeout(seconds):
            return ModelList(name, await connector.models(seconds))
    except HeddleError as error:
        log.warning(
            "models not listed", connector=name, error=error.message, diagnosis=error.diagnosis
        )
        return ModelList(name, problem=error.message, error=error)
    except TimeoutError:
        late = DeadlineError(f"The provider did not answer within {seconds:g} s.")
        return ModelList(name, problem=late.message, error=late)
    except Exception:  # third-party code, which must not hide the models of other connectors
        log.exception("connector cannot list its models", connector=name)
        return ModelList(
            name, problem="The connector failed. The service's log contains the cause."
        )
