"""`heddle.assistant.v1.QuestionService`."""

from heddle.assistant.v1 import questions_pb2 as pb
from heddle.assistant.v1 import questions_pb2_grpc as pb_grpc
from heddle_runtime.identity.call_metadata import Context, caller

from heddle_assistants.questions.store import Questions, QuestionStore


class QuestionServicer(pb_grpc.QuestionServiceServicer):
    """Translates between the contract and the stored questions."""

    def __init__(self, store: QuestionStore) -> None:
        self._store = store

    async def GetQuestions(
        self, request: pb.GetQuestionsRequest, context: Context
    ) -> pb.GetQuestionsResponse:
        """Return the questions of an assistant."""
        questions = await self._store.get(request.id, caller().identity)
        return pb.GetQuestionsResponse(questions=_messages(questions), etag=questions.etag)

    async def UpdateQuestions(
        self, request: pb.UpdateQuestionsRequest, context: Context
    ) -> pb.UpdateQuestionsResponse:
        """Replace the questions of an assistant."""
        identity = caller().identity
        questions = await self._store.replace(request.id, identity, request.etag, request.questions)
        return pb.UpdateQuestionsResponse(questions=_messages(questions), etag=questions.etag)


def _messages(questions: Questions) -> list[pb.SavedQuestion]:
    return [
        pb.SavedQuestion(title=title, text=text, expected=expected)
        for title, text, expected in questions.items
    ]
