"""The messages between the service and the process of a plugin, and the channel that carries them.

A frame is the length of a message, four bytes, and the message in MessagePack. Messages of the
tool contract are inside as bytes. The service reads a plugin's frames as it reads requests of
strangers: their types are checked, and their size is limited.
"""

import asyncio
import struct
from typing import Literal

import msgspec
from heddle_runtime.errors import ToolFailedError
from heddle_runtime.identity.call_metadata import Caller
from heddle_runtime.serving.plugins import Problem

MAX_FRAME_BYTES = 16 * 1024 * 1024
MAX_FORK_REQUEST_BYTES = 65_536
"""The size of a request to the fork server, and of its answer."""
_LENGTH = struct.Struct("!I")

Kind = Literal["execute", "functions", "assess", "validate"]


class PluginSource(msgspec.Struct, frozen=True):
    """The place of a plugin: a module in the mounted folder, or an entry point."""

    origin: str
    """For people: `folder:<file>` or `package:<name>`."""
    target: str
    """The module of a mounted file, or an entry point, `module:attribute`."""
    folder: str = ""
    """The mounted folder; empty for entry points."""


class Load(msgspec.Struct, tag="load"):
    """Load the plugin, and describe its tools."""

    source: PluginSource
    disabled: list[str]
    """The names of tools that the operator has switched off."""
    threads: int
    """Calls at once of a tool that is not async."""
    timeout: float
    """Seconds that a tool may take if its invocation sets no timeout."""
    capabilities: list[str]
    """The names of the capabilities that it may request, as in `interfaces`."""
    http_seconds: float
    """The time limit of another server's answer to a tool."""


class Run(msgspec.Struct, tag="run"):
    """Begin a call."""

    id: int
    kind: Kind
    request: bytes
    """The request of the contract's method."""
    seconds: float
    caller: Caller
    """Without the token and the grant that prove it."""


class Cancel(msgspec.Struct, tag="cancel"):
    """End a call: no one waits for it."""

    id: int


class Returned(msgspec.Struct, tag="returned"):
    """The outcome of a plugin's call of a capability. Exactly one member is set."""

    id: int
    value: bytes | None = None
    """The result, as `interfaces` encodes it."""
    error: "CapabilityError | None" = None


class CapabilityError(msgspec.Struct):
    """Why a capability failed, as a `ToolError`."""

    message: str
    kind: str = ""
    unavailable: bool = False
    details: str = "{}"
    """A JSON object."""


class Loaded(msgspec.Struct, tag="loaded"):
    """The tools of a plugin, each a `heddle.tool.v1.Tool`, and what is wrong with it."""

    tools: list[bytes] = []
    problems: list[Problem] = []


class Begun(msgspec.Struct, tag="begun"):
    """The process has read a `Run`."""

    id: int


class Event(msgspec.Struct, tag="event"):
    """A `heddle.tool.v1.ToolEvent` with a status."""

    id: int
    event: bytes


class Ended(msgspec.Struct, tag="ended"):
    """The end of a call: its results, or its error as a `google.rpc.Status`."""

    id: int
    results: list[bytes] = []
    error: bytes | None = None
    diagnosis: str = ""
    """The cause of the error, for the log. A status does not carry it."""
    slot: str = ""
    is_last: bool = False
    """Whether the process must be replaced, because its memory is used up."""


class Called(msgspec.Struct, tag="called"):
    """The plugin calls a method of a capability. `Returned` answers."""

    id: int
    run: int
    capability: str
    """Its name, as in `interfaces`."""
    method: str
    arguments: bytes


ToPlugin = Load | Run | Cancel | Returned
FromPlugin = Loaded | Begun | Event | Ended | Called
_encode = msgspec.msgpack.Encoder().encode
decode_to_plugin = msgspec.msgpack.Decoder(ToPlugin).decode
decode_from_plugin = msgspec.msgpack.Decoder(FromPlugin).decode


def frame(message: ToPlugin | FromPlugin) -> bytes:
    """Return a message as a frame.

    Raises:
        ToolFailedError: It is too large.
    """
    body = _encode(message)
    if len(body) > MAX_FRAME_BYTES:
        text = f"The tool handles {len(body):,} bytes at once; at most {MAX_FRAME_BYTES:,} can be."
        raise ToolFailedError(text)
    return _LENGTH.pack(len(body)) + body


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    """Return the next message, encoded.

    Raises:
        EOFError: The other side has closed the channel.
        ValueError: The message is too large.
    """
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    if length > MAX_FRAME_BYTES:
        text = f"A plugin sent a message of {length:,} bytes; at most {MAX_FRAME_BYTES:,} are read."
        raise ValueError(text)
    return await reader.readexactly(length)
