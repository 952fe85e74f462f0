"""Asks the usage service for the prices of models."""

from dataclasses import dataclass

import structlog
from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.usage.v1 import usage_pb2 as pb
from heddle.usage.v1.usage_pb2_grpc import UsageServiceAsyncStub
from heddle_runtime.errors import HeddleError
from heddle_runtime.identity.call_metadata import Context, remaining
from heddle_runtime.identity.service_credentials import ServiceCredentials

from heddle_orchestrator.metering.usage_counter import Tokens

_TIMEOUT_SECONDS = 2.0
_MICROS = 1_000_000
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class PriceClient:
    """Reads the prices of models."""

    service: UsageServiceAsyncStub
    credentials: ServiceCredentials

    async def price(
        self, model: str, organization: str, context: Context
    ) -> assistant_pb2.Price | None:
        """Return the price of `connector/model`; None if it has none or cannot be read."""
        connector, _, name = model.partition("/")
        ref = assistant_pb2.ModelRef(connector=connector, model=name)
        request = pb.GetPriceRequest(model=ref, organization=organization)
        seconds = remaining(context, _TIMEOUT_SECONDS)
        try:
            response = await self.credentials.call(self.service.GetPrice, request, seconds)
        except HeddleError as error:
            log.warning("price not available", model=model, reason=error.reason)
            return None
        return response.price if response.HasField("price") else None


def cost_micros(usage: chat_pb2.Usage, price: assistant_pb2.Price) -> int:
    """Return the cost of tokens in millionths of a US dollar, rounded up."""
    tokens = Tokens(usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens)
    return max(0, -(-tokens.cost(price) // _MICROS))
