"""What the service needs of another search engine: matches of a question with their vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import httpx
from heddle_runtime.http.egress import Egress
from heddle_runtime.http.remote_json import (
    RemoteError,
    RemoteUnavailableError,
    fetch,
    reason_in,
)

from heddle_knowledge.collection.types import Mode
from heddle_knowledge.engines.conditions import Condition
from heddle_knowledge.errors import BackendError, BackendUnavailableError

_MISSING = 404


@dataclass(frozen=True, slots=True)
class Server:
    """A server that an organisation has set up.

    Attributes:
        name: In the settings of the organisation, and in messages.
        url: Without a slash at the end.
        key: Empty if the server needs none.
        http: Connects to permitted addresses only, and follows no redirections.
        egress: The addresses that are permitted; None: all.
        grpc_url: Where the server speaks gRPC, if the engine does so elsewhere.
        seconds: For one answer.
    """

    name: str
    url: str
    key: str = field(repr=False)
    http: httpx.AsyncClient
    egress: Egress | None = None
    grpc_url: str = ""
    seconds: float = 10.0

    @property
    def label(self) -> str:
        """The server in messages."""
        return f"The server {self.name!r}"

    async def ask(self, path: str, content: object, headers: Mapping[str, str]) -> Any:  # noqa: ANN401 - any JSON value
        """Return the JSON value that the server answers to a POST, without content to a GET.

        Raises:
            BackendError: It refuses the request, or answers nonsense.
            BackendUnavailableError: It does not answer.
        """
        method, url = "GET" if content is None else "POST", f"{self.url}/{path}"
        request = self.http.build_request(method, url, json=content, headers=headers)
        try:
            status, body = await fetch(self.http, request, self.label)
        except RemoteUnavailableError as error:
            raise BackendUnavailableError(str(error)) from None
        except RemoteError as error:
            raise BackendError(str(error)) from None
        if status >= 400:  # noqa: PLR2004 - the errors of HTTP
            raise self.refusal(status, reason_in(body, self.key))
        return body

    def refusal(self, status: int, reason: str) -> BackendError:
        """Return the error for a request that the server refuses."""
        if status in {401, 403}:
            return BackendError(
                f"{self.label} refuses its key ({status}). An administrator of the organisation "
                "can replace it in the organisation's settings."
            )
        if status == _MISSING:
            return BackendError(
                f"{self.label} has no such collection ({reason or status}). Check its name there."
            )
        return BackendError(f"{self.label} refuses the search ({status}): {reason or 'no reason'}.")


@dataclass(frozen=True, slots=True)
class Question:
    """A question to one collection of an engine.

    Attributes:
        collection: The name there.
        text: The question.
        vector: Its vector; None: the engine embeds it, or searches by words.
        mode: How to search; one of the engine's.
        count: At most so many matches.
        where: Which entries may be found; `EVERYTHING` unless the engine filters.
        place: The further settings of the collection, such as the name of a vector.
    """

    collection: str
    text: str
    vector: Sequence[float] | None
    mode: Mode
    count: int
    where: Condition
    place: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Match:
    """An entry that an engine found.

    Attributes:
        id: Its identifier there.
        properties: Its properties, objects included.
        vector: Its vector, if the question had one.
        relevance: What the engine orders by, higher is better.
        similarity: Its cosine, if the engine tells; `vector` precedes it.
    """

    id: str
    properties: Mapping[str, Any]
    vector: Sequence[float] | None
    relevance: float
    similarity: float | None = None


class SearchEngine(Protocol):
    """A kind of engine."""

    kind: ClassVar[str]
    """The backend of its collections."""
    label: ClassVar[str]
    """Its name for people."""
    settings: ClassVar[frozenset[str]]
    """Settings of its collections besides those that all have."""
    modes: ClassVar[tuple[Mode, ...]]
    """How it can search, the best first."""
    has_text: ClassVar[bool] = False
    """Whether an entry has a text besides its properties."""
    filters: ClassVar[bool] = True
    """Whether it can leave out entries."""
    embeds: ClassVar[bool] = False
    """Whether it can embed a question by itself."""

    async def search(self, server: Server, question: Question) -> list[Match]:
        """Return the best matches, the best first.

        Raises:
            BackendError: It refuses the request, answers nonsense, or its client is not installed.
            BackendUnavailableError: It does not answer.
        """
