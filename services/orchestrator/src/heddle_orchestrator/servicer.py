"""`heddle.orchestrator.v1.OrchestratorService`."""

import json
from collections.abc import AsyncGenerator, Coroutine
from dataclasses import dataclass
from typing import Any

from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_runtime.contract.paging import page
from heddle_runtime.identity.call_metadata import Context
from heddle_runtime.telemetry import spans

from heddle_orchestrator.completion import Completions
from heddle_orchestrator.prompts import PROMPT_PROCESSORS
from heddle_orchestrator.strategies import STRATEGIES
from heddle_orchestrator.validation import TemplateChecker, Validator

_INVOKE = "invoke_agent"


def _invocation() -> spans.Attributes:
    return {"gen_ai.operation.name": _INVOKE}


@dataclass(eq=False, slots=True)
class OrchestratorServicer(pb_grpc.OrchestratorServiceServicer):
    """Serves the gRPC contract of the orchestrator."""

    completions: Completions
    validator: Validator
    templates: TemplateChecker

    async def ListStrategies(
        self, request: pb.ListStrategiesRequest, context: Context
    ) -> pb.ListStrategiesResponse:
        """List the strategies."""
        items, token = page(
            STRATEGIES.values(), lambda item: item.name, request.page_size, request.page_token
        )
        return pb.ListStrategiesResponse(
            strategies=[
                pb.Strategy(
                    name=each.name,
                    description=each.description,
                    settings_schema_json=json.dumps(each.settings),
                    runs_agent_tools=each.router is not None,
                )
                for each in items
            ],
            next_page_token=token,
        )

    async def ListPromptProcessors(
        self, request: pb.ListPromptProcessorsRequest, context: Context
    ) -> pb.ListPromptProcessorsResponse:
        """List the prompt processors."""
        items, token = page(
            PROMPT_PROCESSORS.values(),
            lambda item: item.name,
            request.page_size,
            request.page_token,
        )
        return pb.ListPromptProcessorsResponse(
            prompt_processors=[
                pb.PromptProcessor(
                    name=each.name,
                    description=each.description,
                    settings_schema_json=json.dumps(each.settings),
                    slots=each.slots,
                )
                for each in items
            ],
            next_page_token=token,
        )

    async def ValidateAssistant(
        self, request: pb.ValidateAssistantRequest, context: Context
    ) -> pb.ValidateAssistantResponse:
        """Return the faults of an assistant."""
        [response] = await self.validator.check([request], context)
        return response

    async def BatchValidateAssistants(
        self, request: pb.BatchValidateAssistantsRequest, context: Context
    ) -> pb.BatchValidateAssistantsResponse:
        """Return the faults of several assistants."""
        responses = await self.validator.check(request.requests, context)
        return pb.BatchValidateAssistantsResponse(responses=responses)

    async def CheckTemplate(
        self, request: pb.CheckTemplateRequest, context: Context
    ) -> pb.CheckTemplateResponse:
        """Return the findings about a template."""
        findings = await self.templates.check(request.assistant, context)
        return pb.CheckTemplateResponse(findings=findings)

    def RunCompletion(
        self, request: pb.RunCompletionRequest, context: Context
    ) -> AsyncGenerator[pb.RunCompletionResponse]:
        """Stream the events of a completion."""
        events = self.completions.stream(request, context)
        return spans.traced_stream(events, _INVOKE, attributes=_invocation)

    def RunWholeCompletion(
        self, request: pb.RunWholeCompletionRequest, context: Context
    ) -> Coroutine[Any, Any, pb.RunWholeCompletionResponse]:
        """Return the events of a completion."""
        answer = self.completions.whole(request.run, context)
        return spans.traced_call(answer, _INVOKE, attributes=_invocation)
