"""The routes of `/v1/responses`."""

from heddle_gateway.http.raw import RawRequest
from heddle_gateway.openai.chat.completions import OPTIONS, respond
from heddle_gateway.openai.responses.request import read
from heddle_gateway.openai.responses.schema import Response, ResponsesBody
from heddle_gateway.routing import Routes
from heddle_gateway.state import State

routes = Routes("completions")


@routes.post(
    "/v1/responses",
    "/responses",
    **{**OPTIONS, "body_model": ResponsesBody, "returns": Response},
)
async def create(state: State, request: RawRequest) -> None:
    """Answer a conversation as an assistant, in the form of OpenAI's Responses.

    The run is that of a chat completion, with the same headers, limits and traces. With `stream`
    the response is a stream of server-sent events that ends with `response.completed`,
    `response.incomplete` or `response.failed`.

    Nothing is stored: clients send all items of the conversation in `input`. With
    `reasoning.encrypted_content` in `include`, an item `reasoning` has what the model's provider
    needs back with the calls of functions; only the same caller can use it, with the same
    assistant.

    The assistant's own tools are items `file_search_call`, `web_search_call` and `mcp_call`, unless
    `X-Heddle-Events` is `none`. Their sources are annotations of the message: `url_citation` with a
    web address, else `file_citation`. Progress is an event `response.in_progress` with a member
    `event` or `heddle`.
    """
    await respond(state, request, "", read=read)
