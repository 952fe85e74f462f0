"""The call of a model, as a connector sees it."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from heddle.assistant.v1.assistant_pb2 import Assistant
from heddle.chat.v1 import chat_pb2 as chat
from heddle.connector.v1 import connector_pb2 as pb
from heddle_runtime.contract.openai_messages import members, to_messages, to_tool
from heddle_runtime.errors import ProviderGarbledError
from heddle_runtime.identity.call_metadata import Context, caller, remaining
from heddle_runtime.telemetry import log_fields
from msgspec import Raw

from heddle_connector.generation.generated_images import MAX_IMAGES_BYTES, GeneratedImages
from heddle_connector.generation.metrics import inference
from heddle_connector.generation.prompt_formats import PromptFormat
from heddle_connector.generation.prompted_tools import (
    TOOL_OPTIONS,
    PromptedTools,
    prompted_messages,
)
from heddle_connector.http.errors import DEFAULT_STALL_SECONDS


class Options(msgspec.Struct, frozen=True):
    """Generation options. None: the provider's default applies."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: Sequence[str] = ()
    seed: int | None = None
    extra: Mapping[str, Raw] = msgspec.field(default_factory=dict)
    """The other members of the client's request, each as JSON text."""


_NATIVE_TOOLS = PromptedTools({})


class Call:
    """One call of a model. Each part is translated on first access.

    With prompted tool use, `messages` contains the tools as text, and `functions` and `options` do
    not mention them. So a connector sends what it finds in both cases.
    """

    # No `cached_property`: in Python 3.11 it takes a lock, a twentieth of a request's cost.
    __slots__ = (
        "_client_options",
        "_context",
        "_declared_tools",
        "_image_budget",
        "_images",
        "_messages",
        "_options",
        "_prompt_format",
        "_prompted_tools",
        "_request",
        "_turns",
        "connector",
        "inference",
        "model",
        "replaced",
        "stall_seconds",
        "substitute",
        "whole",
    )

    def __init__(
        self,
        request: pb.GenerateMessageRequest,
        context: Context,
        images: GeneratedImages,
        *,
        whole: bool = False,
        prompted_tools: PromptedTools = _NATIVE_TOOLS,
        stall_seconds: float = DEFAULT_STALL_SECONDS,
    ) -> None:
        self._request = request
        self._turns = request.messages[:]  # a slice: protobuf iteration ends with a costly error
        self._context = context
        self._images = images
        self._image_budget = MAX_IMAGES_BYTES
        self._prompted_tools = prompted_tools
        self._prompt_format: PromptFormat | None = None
        self._messages: list[dict[str, Any]] | None = None
        self._declared_tools: list[dict[str, Any] | Raw] | None = None
        self._client_options: Options | None = None
        self._options: Options | None = None
        self.model = request.model.model
        """The provider's name of the model."""
        self.connector = request.model.connector
        self.replaced: chat.ModelReplaced | None = None
        """The replacement of the requested model, if it cannot answer."""
        self.substitute = ""
        """The model that answers as `connector/model`, if it is not the requested one."""
        self.whole = whole
        """The caller reads the answer when it is complete, so that streaming gains nothing."""
        self.stall_seconds = stall_seconds
        """The longest time between two parts of the answer in seconds."""
        self._select_prompt_format()
        self.name_in_log()
        self.inference = inference(self.connector, self.model)
        """The measurement of the request to the model."""

    def replace(self, connector: str, model: str, reason: str = "") -> None:
        """Replace the model that answers.

        Args:
            connector: The connector of the other model.
            model: The other model.
            reason: The reason of the error with which the requested model failed, if it failed.
        """
        requested = self._request.model
        self.replaced = chat.ModelReplaced(
            requested=f"{requested.connector}/{requested.model}",
            replacement=f"{connector}/{model}",
            reason=reason,
        )
        self.use(connector, model)

    def use(self, connector: str, model: str) -> None:
        """Let another model answer, which is no failure of the requested one."""
        self.substitute = f"{connector}/{model}"
        self.connector, self.model = connector, model
        self.name_in_log()
        self.inference.begin(connector, model)
        self._messages = self._options = None
        self._select_prompt_format()

    def name_in_log(self) -> None:
        """Name the model that answers in the log line of the request."""
        fields = log_fields.current()
        fields.model = f"{self.connector}/{self.model}"
        if self.replaced is not None:
            fields.degraded = "model"

    @property
    def seconds(self) -> float:
        """The remaining time for the answer in seconds."""
        return remaining(self._context)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation in OpenAI's chat completions format.

        What the contract does not model is `msgspec.Raw`: the client's JSON text.
        """
        if self._messages is None:
            messages = to_messages(self._turns)
            if prompt_format := self._prompt_format:
                messages = prompted_messages(
                    prompt_format, messages, self.declared_tools, self.client_options.extra
                )
            self._messages = messages
        return self._messages

    @property
    def functions(self) -> list[dict[str, Any] | Raw]:
        """The member `tools` in OpenAI's format. Tools that are not functions are `Raw`."""
        return [] if self._prompt_format else self.declared_tools

    @property
    def declared_tools(self) -> list[dict[str, Any] | Raw]:
        """The tools that the request declares, with and without prompted tool use."""
        if self._declared_tools is None:
            self._declared_tools = [
                to_tool(function, f"functions[{index}]")
                for index, function in enumerate(self._request.functions[:])
            ]
        return self._declared_tools

    @property
    def options(self) -> Options:
        """The generation options to send."""
        if self._options is None:
            options = self.client_options
            if self._prompt_format:
                extra = {
                    name: value for name, value in options.extra.items() if name not in TOOL_OPTIONS
                }
                options = msgspec.structs.replace(options, extra=extra)
            self._options = options
        return self._options

    async def store_image(self, data: bytes) -> chat.GeneratedImage:
        """Store an image for the user of the call, and return the event for it.

        Raises:
            ProviderGarbledError: The data is not an image, or the images exceed 20 MiB.
        """
        self._image_budget -= len(data)
        if self._image_budget < 0:
            raise ProviderGarbledError(
                f"The pictures of the answer have more than {MAX_IMAGES_BYTES} bytes together."
            )
        return await self._images.store(caller().identity, data)

    @property
    def client_options(self) -> Options:
        """The generation options of the client."""
        if self._client_options is None:
            self._client_options = _options(self._request.options)
        return self._client_options

    @property
    def called_functions(self) -> set[str]:
        """The names of the functions that were called earlier in the conversation."""
        turns = [turn for turn in self._turns if turn.role == chat.ROLE_ASSISTANT]
        return {call.name for turn in turns for call in turn.tool_calls[:]}

    @property
    def assistant(self) -> Assistant | None:
        """The assistant that answers; read-only. None for calls outside of a run."""
        return self._request.assistant if self._request.HasField("assistant") else None

    def _select_prompt_format(self) -> None:
        if self._prompted_tools.by_pattern:
            model = f"{self.connector}/{self.model}"
            self._prompt_format = self._prompted_tools.prompt_format(model)


def _options(options: chat.GenerationOptions) -> Options:
    return Options(
        options.temperature if options.HasField("temperature") else None,
        options.top_p if options.HasField("top_p") else None,
        options.max_tokens if options.HasField("max_tokens") else None,
        options.stop[:],
        options.seed if options.HasField("seed") else None,
        members(options.extra_json, "options.extra_json"),
    )
