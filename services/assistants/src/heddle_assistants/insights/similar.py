"""Groups questions of learners that are about the same."""

import asyncio
from collections.abc import Sequence
from operator import mul

import grpc
import structlog
from heddle.group.v1 import insights_pb2 as pb
from heddle.knowledge.v1 import knowledge_pb2
from heddle_runtime.errors import HeddleError
from heddle_runtime.identity.call_metadata import Context, call_options

from heddle_assistants.insights.copies import Copy
from heddle_assistants.other_services import OtherServices

LEAST_LEARNERS = 3
"""The least number of learners whose questions are counted or shown together."""
_LEAST_SIMILARITY = 0.65
"""The cosine from which questions are about the same, for the first model of the knowledge service.

Of 21 questions in four languages, it joins "When is the exam?" and "What is the date of the final
exam?" (0.85), and separates "How is the grade computed?" from "When is the exam?" (0.40).
"""
_COMPARED_CHARACTERS = 1_000
_TIMEOUT_SECONDS = 10.0
log = structlog.get_logger(__name__)


async def similar(
    services: OtherServices, copies: Sequence[Copy], context: Context
) -> list[pb.SimilarQuestions]:
    """Return the groups with questions of three learners, the largest first.

    Without a knowledge service that embeds texts there are none.

    Args:
        services: With the knowledge service.
        copies: The questions.
        context: The context of the call.
    """
    if (stub := services.knowledge) is None or len(copies) < LEAST_LEARNERS:
        return []
    texts = list(dict.fromkeys(each.question.text[:_COMPARED_CHARACTERS] for each in copies))
    request = knowledge_pb2.EmbedTextsRequest(texts=texts)
    options = call_options(context, _TIMEOUT_SECONDS)
    options["timeout"] /= 2  # without groups the questions are still listed
    try:
        response = await stub.EmbedTexts(request, **options)
    except (grpc.aio.AioRpcError, HeddleError) as error:
        log.warning("questions not grouped", cause=str(error))
        return []
    vectors = dict(zip(texts, (list(each.values) for each in response.embeddings), strict=True))
    return await asyncio.to_thread(_groups, copies, vectors)


def _groups(copies: Sequence[Copy], vectors: dict[str, list[float]]) -> list[pb.SimilarQuestions]:
    """Add each question to the group whose first question is closest, or begin a group with it."""
    groups: list[tuple[list[float], list[Copy]]] = []
    for each in copies:
        vector = vectors[each.question.text[:_COMPARED_CHARACTERS]]
        near = [(sum(map(mul, vector, first)), at) for at, (first, _) in enumerate(groups)]
        similarity, at = max(near, default=(0.0, 0))
        if similarity >= _LEAST_SIMILARITY:
            groups[at][1].append(each)
        else:
            groups.append((vector, [each]))
    messages = [
        pb.SimilarQuestions(
            questions=[each.question.id for each in group],
            learners=len({each.learner for each in group}),
        )
        for _, group in groups
    ]
    shown = [each for each in messages if each.learners >= LEAST_LEARNERS]
    return sorted(shown, key=lambda each: len(each.questions), reverse=True)
