"""The routes of `/v1/messages`."""

from heddle.orchestrator.v1.orchestrator_pb2 import RunCompletionRequest

from heddle_gateway.auth.sealed_texts import BoundTexts
from heddle_gateway.http.raw import RawRequest
from heddle_gateway.openai.anthropic.request import estimate, fill, read
from heddle_gateway.openai.anthropic.schema import CountBody, Message, MessagesBody, TokenCount
from heddle_gateway.openai.chat.completions import OPTIONS, respond
from heddle_gateway.routing import Call, Routes
from heddle_gateway.state import State

_ESTIMATE = "x-heddle-estimate"
routes = Routes("completions")


@routes.post("/v1/messages", **{**OPTIONS, "body_model": MessagesBody, "returns": Message})
async def create(state: State, request: RawRequest) -> None:
    """Answer a conversation as an assistant, in the form of Anthropic's Messages.

    The run is that of a chat completion, with the same headers, limits and traces. The key may be
    in `x-api-key`. `anthropic-version` and `anthropic-beta` have no effect. Errors have Anthropic's
    form. With `stream` the response is a stream of server-sent events that ends with
    `message_stop` or `error`.

    `system` follows the assistant's own prompt. The assistant's own tools run unseen; their sources
    are citations of the text: `web_search_result_location` with a web address, else
    `search_result_location`. Progress is an event `ping` with a member `event` or `heddle`. What
    the model's provider needs back with calls is a block `redacted_thinking`; only the same caller
    can use it, with the same assistant.
    """
    await respond(state, request, "", read=read)


@routes.post(
    "/v1/messages/count_tokens",
    headers={"X-Heddle-Estimate": "`true`: the number is an estimate."},
)
async def count_tokens(api: Call, body: CountBody) -> TokenCount:
    """Estimate the tokens of a conversation: four characters are a token.

    The assistant's own prompt, and what its tools find, are not counted.
    """
    run = RunCompletionRequest()
    fill(run, body, api.json, BoundTexts(api.state.reasoning, body.model))
    api.headers[_ESTIMATE] = "true"
    return TokenCount(input_tokens=estimate(run))
