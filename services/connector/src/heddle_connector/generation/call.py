"""What a connector is asked for."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from heddle.assistant.v1.assistant_pb2 import Assistant
from heddle.chat.v1 import chat_pb2 as chat
from heddle.connector.v1 import connector_pb2 as pb
from heddle_runtime.call_metadata import TimedCall, caller, remaining
from heddle_runtime.errors import ProviderGarbledError
from msgspec import Raw

from heddle_connector.generation.events import Picture
from heddle_connector.generation.generated_images import LARGEST, Pictures
from heddle_connector.generation.messages import members, to_messages, to_tool
from heddle_connector.generation.prompted_tools import WISHES, PromptedFunctions, prompted

if TYPE_CHECKING:
    from heddle_connector.generation.prompt_formats import CallStyle


class Options(msgspec.Struct, frozen=True):
    """How to generate. None leaves the choice to the provider."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: Sequence[str] = ()
    seed: int | None = None
    extra: Mapping[str, Raw] = msgspec.field(default_factory=dict)
    """What else the client's request held, each member as JSON text."""


_BESIDE_THE_PROMPT = PromptedFunctions({})


class Call:
    """An answer to generate. Everything is translated when it is first looked at.

    Where the model is told of functions in its prompt, `messages` tells it, and `functions` and
    `options` know nothing of them: a connector sends what it finds in either case.
    """

    # `cached_property` takes a lock in Python 3.11 and is a twentieth of a request's cost.
    __slots__ = (
        "_context",
        "_given",
        "_messages",
        "_offered",
        "_options",
        "_pictures",
        "_prompted",
        "_request",
        "_room",
        "_style",
        "_turns",
        "connector",
        "model",
        "replaced",
        "whole",
    )

    def __init__(
        self,
        request: pb.GenerateMessageRequest,
        context: TimedCall,
        pictures: Pictures,
        *,
        whole: bool = False,
        prompted: PromptedFunctions = _BESIDE_THE_PROMPT,
    ) -> None:
        self._request = request
        self._turns = request.messages[:]  # a slice: protobuf ends an iteration with a dear error
        self._context = context
        self._pictures = pictures
        self._room = LARGEST
        self._prompted = prompted
        self._style: CallStyle | None = None  # None: the model is told beside the prompt
        self._messages: list[dict[str, Any]] | None = None
        self._offered: list[dict[str, Any] | Raw] | None = None
        self._given: Options | None = None
        self._options: Options | None = None
        self.model = request.model.model
        """The provider's name of the model."""
        self.connector = request.model.connector
        self.replaced: chat.ModelReplaced | None = None
        """What is told of it if another model answers than was asked for."""
        self.whole = whole
        """Nobody reads the answer before it is complete."""
        self._choose_style()

    def replace(self, connector: str, model: str, reason: str = "") -> None:
        """Let another model answer.

        Args:
            connector: Of the other model.
            model: The other model.
            reason: Of the error that the one asked for failed with, if it did.
        """
        wanted = self._request.model
        self.replaced = chat.ModelReplaced(
            wanted=f"{wanted.connector}/{wanted.model}", used=f"{connector}/{model}", reason=reason
        )
        self.connector, self.model = connector, model
        self._messages = self._options = None
        self._choose_style()

    @property
    def substitute(self) -> str:
        """`connector/model` if another model than was asked for answers."""
        return self.replaced.used if self.replaced is not None else ""

    @property
    def seconds(self) -> float:
        """The seconds that are left for the answer."""
        return remaining(self._context)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation in the dialect of OpenAI's chat completions.

        What the contract does not model is `msgspec.Raw`: JSON text as the client sent it.
        """
        if self._messages is None:
            messages = to_messages(self._turns)
            if style := self._style:
                messages = prompted(style, messages, self.offered, self.given.extra)
            self._messages = messages
        return self._messages

    @property
    def functions(self) -> list[dict[str, Any] | Raw]:
        """What is sent as OpenAI's member `tools`; foreign ones as `Raw`."""
        return [] if self._style else self.offered

    @property
    def offered(self) -> list[dict[str, Any] | Raw]:
        """What the request offers the model to call, in the same form."""
        if self._offered is None:
            self._offered = [
                to_tool(function, f"functions[{index}]")
                for index, function in enumerate(self._request.functions[:])
            ]
        return self._offered

    @property
    def options(self) -> Options:
        """How to generate."""
        if self._options is None:
            given = self.given
            if self._style:
                extra = {name: value for name, value in given.extra.items() if name not in WISHES}
                given = msgspec.structs.replace(given, extra=extra)
            self._options = given
        return self._options

    async def keep(self, data: bytes) -> Picture:
        """Keep a picture for the person who asks, and return the event that tells of it.

        Raises:
            ProviderGarbledError: It is not a picture, or there are more than 20 MiB of them.
        """
        self._room -= len(data)
        if self._room < 0:
            raise ProviderGarbledError(
                f"The pictures of the answer have more than {LARGEST} bytes together."
            )
        return await self._pictures.keep(caller().identity, data)

    @property
    def given(self) -> Options:
        """The same as the client gave it."""
        if self._given is None:
            self._given = _options(self._request.options)
        return self._given

    @property
    def called(self) -> set[str]:
        """The functions that were called earlier in the conversation."""
        turns = [turn for turn in self._turns if turn.role == chat.ROLE_ASSISTANT]
        return {call.name for turn in turns for call in turn.tool_calls[:]}

    @property
    def assistant(self) -> Assistant | None:
        """The assistant that is answered as, whole; not to be changed. None outside of a run."""
        return self._request.assistant if self._request.HasField("assistant") else None

    def _choose_style(self) -> None:
        """Find out how the model is told of functions in its prompt, if it is."""
        if self._prompted.by_pattern:
            self._style = self._prompted.style(f"{self.connector}/{self.model}")


def _options(given: chat.GenerationOptions) -> Options:
    return Options(
        given.temperature if given.HasField("temperature") else None,
        given.top_p if given.HasField("top_p") else None,
        given.max_tokens if given.HasField("max_tokens") else None,
        given.stop[:],
        given.seed if given.HasField("seed") else None,
        members(given.extra_json, "options.extra_json"),
    )
