"""Checks every two seconds whether the components of a service are ready."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import structlog
from heddle.health.v1 import health_pb2 as pb
from heddle.health.v1 import health_pb2_grpc as pb_grpc

from heddle_runtime.errors import HeddleError
from heddle_runtime.errors.conditions import Check, Condition
from heddle_runtime.identity.call_metadata import Context, caller
from heddle_runtime.identity.permissions import may_administer, require_service
from heddle_runtime.redaction import redact
from heddle_runtime.serving.plugins import Problem
from heddle_runtime.storage import durable_files
from heddle_runtime.storage.failures import check_space, translated_storage_errors

log = structlog.get_logger(__name__)
CHECK_SECONDS = 2.0
_TIMEOUT_SECONDS = 5.0
_PROBE = ".write-probe"


class Readiness:
    """The components of a service and their conditions."""

    def __init__(self, checks: Mapping[str, Check]) -> None:
        self._checks = dict(sorted(checks.items()))
        self.conditions = dict.fromkeys(self._checks, Condition())

    @property
    def serving(self) -> bool:
        """Whether load balancers should send calls to this replica."""
        return all(each.ready or each.external for each in self.conditions.values())

    async def update(self) -> None:
        """Check all components. Logs problems that are new, and those that are gone."""
        current = await asyncio.gather(*(_condition(check) for check in self._checks.values()))
        for name, condition in zip(self._checks, current, strict=True):
            known = self.conditions[name]
            self.conditions[name] = condition
            if (condition.problem, condition.ready) == (known.problem, known.ready):
                continue
            if condition.problem:
                log.warning("component has a problem", component=name, problem=condition.problem)
            else:
                log.info("component works again", component=name)


class HealthServicer(pb_grpc.HealthServiceServicer):
    """Reports the conditions to services and operators."""

    def __init__(self, readiness: Readiness) -> None:
        self._readiness = readiness

    async def GetHealth(  # noqa: N802 - the contract's name
        self, request: pb.GetHealthRequest, context: Context
    ) -> pb.GetHealthResponse:
        """Return the components."""
        if not may_administer(caller().identity):
            require_service(caller().identity)
        return pb.GetHealthResponse(
            components=[
                pb.Component(
                    name=name, ready=each.ready, problem=each.problem, summary=each.summary
                )
                for name, each in self._readiness.conditions.items()
            ],
            version=version("heddle-runtime"),
        )


def plugins_check(problems: Sequence[Problem]) -> Check:
    """Return the check that reports plugins that were skipped at the start."""

    async def check() -> Condition:
        return Condition(listed(problems))

    return check


def listed(problems: Iterable[Problem]) -> str:
    """Return the problems of plugins as one text."""
    return "; ".join(f"{each.origin}: {each.message}" for each in problems)


def folder_check(folder: Path) -> Check:
    """Return the check that files can be written to a folder.

    While there is no such folder, the check looks at the folder that will hold it.
    """

    async def check() -> None:
        await asyncio.to_thread(_probe, folder)

    return check


def _probe(folder: Path) -> None:
    folder = next(each for each in (folder, *folder.absolute().parents) if each.is_dir())
    with translated_storage_errors(folder):
        check_space(folder)
        durable_files.write(folder / _PROBE, b"Heddle writes this file to check the disk.\n")
        (folder / _PROBE).unlink(missing_ok=True)  # another replica may have removed it


async def _condition(check: Check) -> Condition:
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            return await check() or Condition()
    except HeddleError as error:
        return Condition(error.diagnosis or error.message, ready=False)
    except TimeoutError:
        return Condition(f"The check takes more than {_TIMEOUT_SECONDS:g} s.", ready=False)
    except Exception as error:  # noqa: BLE001 - a check that fails is a problem of its component
        return Condition(redact(f"{type(error).__name__}: {error}"), ready=False)
