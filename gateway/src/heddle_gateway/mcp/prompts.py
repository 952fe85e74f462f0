"""Stored prompts, for clients of the Model Context Protocol."""

from heddle.assistant.v1 import prompts_pb2 as pb
from heddle_runtime.errors import PermissionDeniedError

from heddle_gateway.services import LIST_SECONDS, call, items
from heddle_gateway.state import State

QUESTION = "question"
_SLOT = "{user_input}"


async def prompts(state: State) -> list[pb.Prompt]:
    """Return the prompts that the caller may read; none if the role of the caller has none.

    Raises:
        HeddleError: The assistants service does not answer.
    """
    method, request = state.services.prompts.ListPrompts, pb.ListPromptsRequest()
    try:
        return await items(method, request, "prompts", LIST_SECONDS)
    except PermissionDeniedError:
        return []


async def prompt_text(state: State, identifier: str, question: str) -> tuple[pb.Prompt, str]:
    """Return a prompt and its text with a question in it.

    Raises:
        HeddleError: The caller has no such prompt.
    """
    request = pb.GetPromptRequest(id=identifier)
    prompt = (await call(state.services.prompts.GetPrompt, request, LIST_SECONDS)).prompt
    template = prompt.prompt_template or (_SLOT if question else "")
    parts = (prompt.system_prompt, template.replace(_SLOT, question))
    return prompt, "\n\n".join(filter(None, parts))
