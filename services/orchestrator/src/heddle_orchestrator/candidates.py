"""Several answers of a model to one prompt, which it writes at the same time."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.contract.limits import MAX_CANDIDATES
from heddle_runtime.errors import InvalidRequestError, Violation

Answer = AsyncGenerator[pb.RunCompletionResponse]


def check_candidates(count: int, *, loops: bool) -> None:
    """Refuse a number of answers.

    Args:
        count: The number; 0 counts as 1.
        loops: Whether the model, or an agent, calls the tools of the assistant.

    Raises:
        InvalidRequestError: It is not allowed.
    """
    if not 0 <= count <= MAX_CANDIDATES:
        reason = f"must be from 1 to {MAX_CANDIDATES}"
    elif count > 1 and loops:
        reason = "must be 1 for an assistant that calls functions: each answer would call them"
    else:
        return
    message = "The assistant cannot write so many answers to one request."
    raise InvalidRequestError(message, [Violation("candidates", reason)])


async def together(answers: Sequence[Answer]) -> Answer:
    """Yield the events of answers as they come, and then the ends of all together.

    An answer that fails ends the others.
    """
    queue: asyncio.Queue[tuple[int, pb.RunCompletionResponse] | Exception] = asyncio.Queue(1)

    async def read(number: int, answer: Answer) -> None:
        try:
            async with aclosing(answer) as responses:
                async for response in responses:
                    await queue.put((number, response))
        except Exception as error:  # noqa: BLE001 - raised below
            await queue.put(error)

    tasks = [asyncio.create_task(read(*each)) for each in enumerate(answers)]
    ends: dict[int, pb.RunEvent] = {}
    try:
        while len(ends) < len(answers):
            item = await queue.get()
            if isinstance(item, Exception):
                raise item
            number, response = item
            events = response.events[:]  # the answer may still read its own list
            for event in events:
                event.candidate = number
            if events and events[-1].HasField("done"):
                ends[number] = events.pop()
            if events:
                yield pb.RunCompletionResponse(events=events)
        await asyncio.gather(*tasks)  # they read to the end
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    yield pb.RunCompletionResponse(events=[ends[number] for number in sorted(ends)])
