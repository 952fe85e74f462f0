"""Reserves the estimated costs of answers in quotas."""

import uuid
from dataclasses import dataclass

from google.protobuf.duration_pb2 import Duration
from heddle.connector.v1 import connector_pb2
from heddle.usage.v1 import usage_pb2 as pb
from heddle.usage.v1.usage_pb2_grpc import UsageServiceAsyncStub
from heddle_runtime.errors import QuotaExceededError, ResourceExhaustedError
from heddle_runtime.identity.call_metadata import Context, remaining
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.telemetry.metrics import table

from heddle_orchestrator.metering.flushing import Flusher

_CHARS_PER_TOKEN = 4
_IMAGE_TOKENS = 1_000
_MAX_ANSWER_SECONDS = 3_600.0  # for calls without a deadline
_SLACK_SECONDS = 60.0
"""The time for recording the usage after the answer."""


@dataclass(frozen=True, slots=True)
class Reserver:
    """Reserves in the usage service what an answer may cost."""

    service: UsageServiceAsyncStub
    credentials: ServiceCredentials
    flusher: Flusher
    completion_tokens: int
    """The number of tokens to reserve if the request sets no maximum."""

    async def reserve(
        self, assistant: str, generation: connector_pb2.GenerateMessageRequest, context: Context
    ) -> tuple[str, bool]:
        """Reserve for an answer of an assistant.

        Returns the id of the reservation, and whether the quota nears its end.

        Raises:
            QuotaExceededError: The quota of the assistant is used up.
            ResourceExhaustedError: Other answers have reserved what is left.
        """
        seconds = remaining(context, _MAX_ANSWER_SECONDS) + _SLACK_SECONDS
        request = pb.ReserveUsageRequest(
            reservation_id=uuid.uuid4().hex,
            assistant_id=assistant,
            model=generation.model,
            prompt_tokens=prompt_tokens(generation),
            completion_tokens=max(0, generation.options.max_tokens) or self.completion_tokens,
            lifetime=Duration(seconds=int(seconds)),
        )
        try:
            response = await self._reserve(request, context)
        except QuotaExceededError:
            table.QUOTA_REFUSALS.add(1, "spent")
            raise
        except ResourceExhaustedError:
            table.QUOTA_REFUSALS.add(1, "reserved")
            raise
        return request.reservation_id, response.nears_end

    async def _reserve(
        self, request: pb.ReserveUsageRequest, context: Context
    ) -> pb.ReserveUsageResponse:
        reserve = self.service.ReserveUsage
        try:
            return await self.credentials.call(reserve, request, remaining(context))
        except ResourceExhaustedError:
            # Answers that have ended may still be reserved: record their usage now.
            await self.flusher.flush()
            return await self.credentials.call(reserve, request, remaining(context))


def prompt_tokens(generation: connector_pb2.GenerateMessageRequest) -> int:
    """Return an estimate of the tokens of a prompt."""
    parts = [part for message in generation.messages for part in message.parts]
    chars = sum(len(part.text) for part in parts)
    images = sum(1 for part in parts if not part.HasField("text"))
    declared = sum(each.ByteSize() for each in generation.functions)
    return (chars + declared) // _CHARS_PER_TOKEN + images * _IMAGE_TOKENS + 1
