"""One request to a worker, whose failures become those of the engine."""

from typing import TypeVar

import msgspec

from heddle_knowledge.errors import KnowledgeError
from heddle_knowledge.workers.idle_worker import IdleWorker
from heddle_knowledge.workers.worker import (
    WorkerClosedError,
    WorkerFailedError,
    WorkerProcess,
)

ReplyT = TypeVar("ReplyT")


async def call_worker(
    worker: WorkerProcess | IdleWorker,
    payload: bytes,
    reply: type[ReplyT],
    *,
    failed: KnowledgeError | None = None,
    closed: KnowledgeError | None = None,
) -> ReplyT:
    """Send a request and return the reply to it.

    Args:
        worker: Who is asked.
        payload: The request, encoded by msgspec.
        reply: What the answer is read as.
        failed: Raised if the worker died twice or took too long.
        closed: Raised if it was closed before it could answer; by default `failed` is.

    Raises:
        WorkerFailedError: It failed, and nothing is told to be raised instead.
    """
    try:
        answer = await worker.call(payload)
    except WorkerFailedError as error:
        raised = (closed if isinstance(error, WorkerClosedError) else None) or failed
        if raised is None:
            raise
        raise raised from error
    return msgspec.msgpack.decode(answer, type=reply)
