"""What the graph's processes and the service tell each other."""

import msgspec


class Extract(msgspec.Struct, frozen=True):
    """Passages to find names in."""

    texts: list[str]


class Name(msgspec.Struct, frozen=True, array_like=True):
    """A name in a passage."""

    key: str
    """What is the same for all ways to write it."""
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


class Held(msgspec.Struct, frozen=True):
    """A collection's graph: its file, and what of it counts."""

    collection: str
    """Its id."""
    path: str
    parts: list[Part]


class AskThemes(msgspec.Struct, frozen=True, tag=True):
    """Asks for the communities of names."""

    held: list[Held]
    most: int
    query: str = ""


class AskPaths(msgspec.Struct, frozen=True, tag=True):
    """Asks how two names hang together."""

    held: list[Held]
    start: str
    end: str
    most: int


class Evidence(msgspec.Struct, frozen=True):
    """A passage of a document."""

    collection: str
    """Its id."""
    document: str
    ordinal: int
    text: str
    page: int | None
    heading: str


class Theme(msgspec.Struct, frozen=True):
    """A community of names that stand together."""

    names: list[str]
    """The most central first."""
    size: int
    """Names in all."""
    passages: int
    """Passages in which at least two of them stand."""
    within: list[list[str]]
    """The most central names of the communities inside of it, the largest first."""
    evidence: list[Evidence]


class Link(msgspec.Struct, frozen=True):
    """Two names that stand together."""

    start: str
    end: str
    passages: int
    evidence: list[Evidence]


class Network(msgspec.Struct, frozen=True):
    """How much of a graph there is."""

    names: int
    links: int
    documents: int
    """In the graph."""
    foreign: int
    """Not in English, so not in it."""
    missing: int
    """Not in it for another reason: ingested elsewhere, or before graphs were drawn."""


class Answer(msgspec.Struct, frozen=True):
    """What the graph says."""

    network: Network
    themes: list[Theme] = []
    paths: list[list[Link]] = []
    unknown: list[str] = []
    """Of the names asked about, those that it does not have."""
    similar: list[list[str]] = []
    """For each of these, names that it has."""
