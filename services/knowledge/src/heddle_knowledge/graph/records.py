"""The parts of graphs, and the messages of the processes of the graph."""

import msgspec


class Extract(msgspec.Struct, frozen=True):
    """Passages to find names in."""

    texts: list[str]


class Name(msgspec.Struct, frozen=True, array_like=True):
    """A name in a passage."""

    key: str
    """The key that all forms of the name share."""
    surface: str
    """As it stands there."""


class Extracted(msgspec.Struct, frozen=True):
    """The names of each passage; and of all words of a language, how many are English ones."""

    names: list[list[Name]] = []
    words: int = 0
    english: int = 0


class NamedPassage(msgspec.Struct, frozen=True, array_like=True):
    """A passage with the names in it, of which there is at least one."""

    ordinal: int
    text: str
    page: int | None
    heading: str
    names: list[Name]


class Part(msgspec.Struct, frozen=True, array_like=True):
    """A version of a document in a graph."""

    id: int
    """Of its row. Another version has another one."""
    document: str
    sha256: str
    english: bool
    """False: names are looked for in English texts only."""


class Held(msgspec.Struct, frozen=True):
    """A collection's graph, as far as it counts."""

    collection: str
    """Its id."""
    parts: list[Part]
    missing: int
    """The number of documents without a part."""


class AskThemes(msgspec.Struct, frozen=True, tag=True):
    """Asks for communities of names; the response is a `ListGraphThemesResponse`."""

    held: list[Held]
    most: int
    query: str = ""


class AskPaths(msgspec.Struct, frozen=True, tag=True):
    """Asks how two names are connected; the response is a `FindGraphPathsResponse`."""

    held: list[Held]
    start: str
    end: str
    most: int


class Learn(msgspec.Struct, frozen=True, tag=True):
    """The stored passages of parts, by their ids."""

    parts: dict[int, bytes]


class Reply(msgspec.Struct, frozen=True):
    """The reply to a question: the encoded response, or the ids of parts that are needed first."""

    response: bytes = b""
    needed: list[int] = []
