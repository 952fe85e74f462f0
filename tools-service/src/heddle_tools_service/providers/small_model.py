"""The small fast model for tools, reached through the connector service."""

import grpc
from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.connector.v1 import connector_pb2 as pb
from heddle.connector.v1 import connector_pb2_grpc as pb_grpc
from heddle.connector.v1.connector_pb2_grpc import ConnectorServiceAsyncStub
from heddle_runtime.errors import from_rpc
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_runtime.rpc.in_process import InProcessChannel

from heddle_tools_service.sdk import ToolUnavailableError

Channel = grpc.aio.Channel | InProcessChannel


class ConnectorModel:
    """Answers short prompts with one model."""

    def __init__(self, connector: Channel, model: str) -> None:
        name, _, rest = model.partition("/")
        self._model = assistant_pb2.ModelRef(connector=name, model=rest)
        self._stub: ConnectorServiceAsyncStub = pb_grpc.ConnectorServiceStub(connector)  # type: ignore[arg-type] # a local channel stands for a real one

    async def __call__(self, prompt: str, /, *, timeout: float, max_tokens: int) -> str:  # noqa: ASYNC109 - it becomes the deadline of a call
        """Return the answer to `prompt`.

        Raises:
            ToolUnavailableError: The model does not answer in time, or refuses.
        """
        generation = pb.GenerateMessageRequest(
            model=self._model,
            messages=[
                chat_pb2.Message(role=chat_pb2.ROLE_USER, parts=[chat_pb2.ContentPart(text=prompt)])
            ],
            options=chat_pb2.GenerationOptions(temperature=0.0, max_tokens=max_tokens),
        )
        request = pb.GenerateWholeMessageRequest(generation=generation)
        try:
            response = await self._stub.GenerateWholeMessage(request, **new_call_options(timeout))
        except grpc.aio.AioRpcError as error:
            known = from_rpc(error)
            raise ToolUnavailableError(f"The small model gave no answer: {known}") from known
        return "".join(event.text_delta for event in response.events)
