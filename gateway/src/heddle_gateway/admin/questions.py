"""`/assistants/{id}/questions`: questions that authors ask again after an edit."""

from heddle.assistant.v1 import questions_pb2 as pb
from pydantic import Field

from heddle_gateway.http.models import Deleted, Model, StrictModel
from heddle_gateway.openai.chat.completions import AssistantId
from heddle_gateway.routing import ETAG, Call, Routes
from heddle_gateway.services import call

routes = Routes("assistants")


class SavedQuestion(StrictModel):
    """A saved question."""

    title: str = Field(default="", description="At most 200 characters.")
    text: str = Field(description="The question, at most 10000 characters.")


class QuestionsBody(StrictModel):
    """All questions of an assistant."""

    questions: list[SavedQuestion] = Field(description="In their order, at most 100.")


class Questions(Model):
    """All questions of an assistant."""

    questions: list[SavedQuestion]


@routes.get("/assistants/{id}/questions", errors=(400, 404), headers=ETAG)
async def get(api: Call, id_: AssistantId) -> Questions:
    """Get the saved questions of an assistant, for those who may edit it."""
    response = await call(api.services.questions.GetQuestions, pb.GetQuestionsRequest(id=id_))
    api.set_etag(response.etag)
    return Questions(questions=[SavedQuestion.of(each) for each in response.questions])


@routes.put("/assistants/{id}/questions", errors=(404, 409), headers=ETAG, if_match=True)
async def update(api: Call, id_: AssistantId, body: QuestionsBody) -> Questions:
    """Replace the saved questions of an assistant, which does not change."""
    questions = [pb.SavedQuestion(**each.model_dump()) for each in body.questions]
    request = pb.UpdateQuestionsRequest(id=id_, questions=questions, etag=api.expected_etag())
    response = await call(api.services.questions.UpdateQuestions, request)
    api.set_etag(response.etag)
    return Questions(questions=body.questions)


@routes.delete("/assistants/{id}/questions", errors=(400, 404, 409), if_match=True)
async def delete(api: Call, id_: AssistantId) -> Deleted:
    """Delete the saved questions of an assistant."""
    request = pb.UpdateQuestionsRequest(id=id_, etag=api.expected_etag())
    await call(api.services.questions.UpdateQuestions, request)
    return Deleted(id=id_)
