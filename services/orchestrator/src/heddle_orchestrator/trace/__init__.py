"""The trace of a run, for debugging an assistant. Built only for runs that ask for it.

`steps` records the requests to models and lists what ran, `insertions` tells what filled the slots
and where it is in the prompt, and `texts` replaces secrets.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING

import grpc
from heddle.connector.v1 import connector_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.errors import HeddleError, from_rpc
from heddle_runtime.identity.call_metadata import Context, Stopwatch

from heddle_orchestrator.agent.run_snapshot import snapshot
from heddle_orchestrator.metering.prices import PriceClient
from heddle_orchestrator.plan import Plan
from heddle_orchestrator.trace.insertions import insertions
from heddle_orchestrator.trace.prompt import SentPrompt, outline
from heddle_orchestrator.trace.steps import Round, Steps

if TYPE_CHECKING:
    from heddle_orchestrator.event_mapping import EventList

__all__ = ["Tracing"]


class Tracing:
    """Observes one run, and inserts its trace before the end."""

    def __init__(
        self, plan: Plan, max_prompt_chars: int, prices: PriceClient, context: Context
    ) -> None:
        """Begin the trace. All starts are counted from now."""
        self._plan = plan
        self._max_prompt_chars = max_prompt_chars
        self._prices = prices
        self._context = context
        self._watch = Stopwatch()
        self._rounds: list[Round] = []
        self._decisions: list[tuple[float, pb.Decision]] = []

    async def observe(
        self, answer: AsyncGenerator[pb.RunCompletionResponse]
    ) -> AsyncGenerator[pb.RunCompletionResponse]:
        """Yield the events of one request to a model, and record them."""
        observed = Round(self._watch.seconds())
        self._rounds.append(observed)
        try:
            async with aclosing(answer) as responses:
                async for response in responses:
                    observed.take(response.events)
                    observed.seconds = self._watch.seconds() - observed.start
                    yield response
        except (HeddleError, grpc.aio.AioRpcError) as error:
            observed.failure = from_rpc(error) if isinstance(error, grpc.aio.AioRpcError) else error
            observed.seconds = self._watch.seconds() - observed.start
            raise

    async def insert_into(
        self,
        answer: AsyncGenerator[pb.RunCompletionResponse],
        sent: connector_pb2.GenerateMessageRequest,
    ) -> AsyncGenerator[pb.RunCompletionResponse]:
        """Yield the events of the answer, with the trace before `done`.

        Args:
            answer: The events.
            sent: The request to the model that answers. Each round adds messages to it.
        """
        async with aclosing(answer) as responses:
            async for response in responses:
                events = response.events
                self._record_decisions(events)
                if events and events[-1].HasField("done"):
                    last = events.pop()
                    trace = await self._trace(sent)
                    events.extend([pb.RunEvent(trace=trace), last])
                yield response

    def _record_decisions(self, events: "EventList") -> None:
        for event in events:
            if event.HasField("decision"):
                elapsed = event.decision.elapsed.ToNanoseconds() / 1e9
                start = max(0.0, self._watch.seconds() - elapsed)
                self._decisions.append((start, event.decision))

    async def _trace(self, sent: connector_pb2.GenerateMessageRequest) -> pb.Trace:
        plan = self._plan
        organization = plan.assistant.organization
        price = partial(self._prices.price, organization=organization, context=self._context)
        steps = Steps(plan, self._watch.started)
        await steps.add_rounds(self._rounds, price)
        trace = pb.Trace(
            steps=[*steps.tools, *steps.decisions(self._decisions), *steps.models],
            tree=snapshot(plan.state) if plan.state else None,
            has_texts=plan.trace_texts,
        )
        if not plan.trace_texts:
            trace.prompt.extend(outline(plan, self._max_prompt_chars))
            return trace
        prompt = SentPrompt(sent.messages)
        trace.slots.extend(insertions(plan, prompt, steps.positions))
        trace.prompt.extend(prompt.shown)
        return trace
