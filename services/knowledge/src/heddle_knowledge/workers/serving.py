"""The inside of a worker process: it answers the service's requests until the service goes.

A request is a message of msgspec; a reply is a byte that says which kind it is, then a message or
the text of a refusal. No pickle: a worker that a hostile file has taken over sends data only.
"""

import os
import resource
import sys
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import UnionType
from typing import TypeVar

import msgspec

RequestT = TypeVar("RequestT")
ANSWER, REFUSAL = b"a", b"r"
FAILED = 70
"""The exit code of a worker that a request ended; one that cannot be loaded ends with 1."""
NICE = 10
"""The difference between the priority of a worker and that of the service."""
_WATCH_SECONDS = 2.0


def serve(
    handle: Callable[[RequestT], object],
    request_type: type[RequestT] | UnionType,
    *,
    refusal: type[Exception] | tuple[()] = (),
    memory_bytes: int | None = None,
    nice: int = NICE,
) -> None:
    """Answer the requests of the connection whose descriptor the command line names.

    Called once by the main function of a worker process. It ends the process within seconds of
    its parent, even in the middle of a long request.

    Args:
        handle: Returns the reply to a request, a message of msgspec.
        request_type: The type of the requests, or the union of their types.
        refusal: What `handle` raises for a request that it refuses; the text goes to the caller.
        memory_bytes: The address space that the process may have; None: without a limit.
        nice: How much to lower the priority of the process.
    """
    if memory_bytes is not None:
        _limit_memory(memory_bytes)
    os.nice(nice)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    connection = Connection(int(sys.argv[1]))
    try:
        while (payload := _received(connection)) is not None:
            try:
                request = msgspec.msgpack.decode(payload, type=request_type)
                reply = ANSWER + msgspec.msgpack.encode(handle(request))
            except refusal as error:
                reply = REFUSAL + str(error).encode()
            connection.send_bytes(reply)
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(0)  # the service is gone
    except Exception:  # noqa: BLE001 - a handler may raise anything
        traceback.print_exc()
        os._exit(FAILED)


def _received(connection: Connection) -> bytes | None:
    try:
        return connection.recv_bytes()
    except (EOFError, ConnectionError):
        return None


def _limit_memory(most: int) -> None:
    """Limit the address space, unless a lower limit holds already."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or hard > most:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    os._exit(0)
