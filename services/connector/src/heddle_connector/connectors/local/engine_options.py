"""The messages between the connector and the process of its engine."""

import msgspec


class EngineOptions(msgspec.Struct, frozen=True):
    """The engine's options: one line of JSON on the standard input of its process."""

    engine: str
    """The module to import."""
    path: str
    name: str
    key: str
    """Authenticates the requests: any program on this machine can reach the port."""
    slots: int
    context: int
    max_tokens: int
    threads: int
    cache_mib: int


class EngineStart(msgspec.Struct, frozen=True):
    """The outcome of the start, as JSON on standard output. One of the members is empty."""

    address: str = ""
    problem: str = ""
