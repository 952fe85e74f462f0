"""Asks the orchestrator whether assistants are valid. Never called within a transaction."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import grpc
import structlog
from google.rpc.error_details_pb2 import BadRequest
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2
from heddle_runtime.contract.validation import NOT_CHECKED
from heddle_runtime.errors import HeddleError, InvalidRequestError, Violation, from_rpc
from heddle_runtime.identity.call_metadata import Context, call_options, new_call_options
from heddle_runtime.identity.service_credentials import ServiceCredentials

from heddle_assistants.other_services import OtherServices

_TIMEOUT_SECONDS = 5.0
_BATCH_TIMEOUT_SECONDS = 30.0
_MAX_BATCH = 500
_PAUSE_SECONDS = 5.0
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Findings:
    """The faults of an assistant."""

    violations: list[Violation] = field(default_factory=list)
    warnings: list[Violation] = field(default_factory=list)
    """Faults that do not prevent the assistant from being stored."""

    @property
    def unchecked(self) -> bool:
        """Whether a part could not be checked."""
        return any(each.description.startswith(NOT_CHECKED) for each in self.warnings)

    def refuse(self) -> None:
        """Refuse an assistant with violations.

        Raises:
            InvalidRequestError: There are violations.
        """
        if self.violations:
            raise InvalidRequestError("The assistant is not valid.", self.violations)

    def accept(self) -> None:
        """Turn the violations into warnings."""
        self.warnings = [*self.violations, *self.warnings]
        self.violations = []


class Validation:
    """Asks the orchestrator."""

    def __init__(self, services: OtherServices, credentials: ServiceCredentials) -> None:
        self._services = services
        self._credentials = credentials
        self._retry_at = 0.0
        """The time until which batches are not checked: an import must not wait in each of them."""

    @property
    def enabled(self) -> bool:
        """Whether there is an orchestrator that can be asked."""
        return self._services.orchestrator is not None

    async def check(
        self, assistant: pb.Assistant, stored: pb.Assistant | None, context: Context
    ) -> Findings:
        """Return the faults of an assistant, on behalf of the caller.

        Args:
            assistant: The assistant.
            stored: The assistant before an edit.
            context: The context of the call.
        """
        request = orchestrator_pb2.ValidateAssistantRequest(assistant=assistant, stored=stored)
        try:
            if (stub := self._services.orchestrator) is None:
                return _not_checked()
            options = call_options(context, _TIMEOUT_SECONDS)
            options["timeout"] /= 2  # the rest is for storing it
            response = await stub.ValidateAssistant(request, **options)
        except (grpc.aio.AioRpcError, HeddleError) as error:
            _report(error)
            return _not_checked()
        return _findings(response)

    async def check_batch(self, assistants: Sequence[pb.Assistant]) -> list[Findings]:
        """Return the faults of each assistant, on behalf of this service.

        Nothing is checked in a process without an orchestrator.
        """
        findings: list[Findings] = []
        for start in range(0, len(assistants), _MAX_BATCH):
            findings += await self._check_batch(assistants[start : start + _MAX_BATCH])
        return findings

    async def _check_batch(self, assistants: Sequence[pb.Assistant]) -> list[Findings]:
        if (stub := self._services.orchestrator) is None:
            return [Findings() for _ in assistants]
        if time.monotonic() < self._retry_at:
            return [_not_checked() for _ in assistants]
        requests = [
            orchestrator_pb2.ValidateAssistantRequest(assistant=assistant)
            for assistant in assistants
        ]
        batch = orchestrator_pb2.BatchValidateAssistantsRequest(requests=requests)
        try:
            with self._credentials.as_service():
                response = await stub.BatchValidateAssistants(
                    batch, **new_call_options(_BATCH_TIMEOUT_SECONDS)
                )
        except (grpc.aio.AioRpcError, HeddleError) as error:
            _report(error)
            self._retry_at = time.monotonic() + _PAUSE_SECONDS
            return [_not_checked() for _ in assistants]
        return [_findings(each) for each in response.responses]


def messages(violations: Iterable[Violation]) -> list[BadRequest.FieldViolation]:
    """Return violations as messages."""
    return [
        BadRequest.FieldViolation(field=each.field, description=each.description)
        for each in violations
    ]


def _findings(response: orchestrator_pb2.ValidateAssistantResponse) -> Findings:
    return Findings(
        [Violation(each.field, each.description) for each in response.violations],
        [Violation(each.field, each.description) for each in response.warnings],
    )


def _not_checked() -> Findings:
    return Findings(
        warnings=[Violation("assistant", f"{NOT_CHECKED}: the orchestrator cannot be reached")]
    )


def _report(error: grpc.aio.AioRpcError | HeddleError) -> None:
    failure = error if isinstance(error, HeddleError) else from_rpc(error)
    log.warning("assistant not checked", cause=failure.message, reason=failure.reason)
