"""The requests to the processes of the graph, and the names that they return."""

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


class Part(msgspec.Struct, frozen=True, array_like=True):
    """A document as its collection holds it now."""

    document: str
    sha256: str


class NamedPassage(msgspec.Struct, frozen=True, array_like=True):
    """A passage with the names in it, of which there is at least one."""

    ordinal: int
    text: str
    page: int | None
    heading: str
    names: list[Name]


class DrawnPart(msgspec.Struct, frozen=True):
    """The names of a version of a document."""

    part: Part
    english: bool
    """False: names are looked for in English texts only."""
    passages: list[NamedPassage]


class Held(msgspec.Struct, frozen=True):
    """A collection's graph: its file, and what of it counts."""

    collection: str
    """Its id."""
    path: str
    parts: list[Part]


class AskThemes(msgspec.Struct, frozen=True, tag=True):
    """Asks for communities of names; the reply is a `ListGraphThemesResponse`."""

    held: list[Held]
    most: int
    query: str = ""


class AskPaths(msgspec.Struct, frozen=True, tag=True):
    """Asks how two names are connected; the reply is a `FindGraphPathsResponse`."""

    held: list[Held]
    start: str
    end: str
    most: int
