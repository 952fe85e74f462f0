"""Functions in OpenAI's older form: `functions` and `function_call`.

They become tools for the run, and calls of them are returned as `function_call`.
"""

from heddle.chat.v1.chat_pb2 import FunctionDeclaration, GenerationOptions
from heddle_runtime.contract.openai_messages import decode_members
from msgspec import Raw, json

from heddle_gateway.http.json_text import Place
from heddle_gateway.openai.chat.options import declare
from heddle_gateway.openai.chat.schema import ConversationBody, FunctionName


def legacy_functions(body: ConversationBody, place: Place) -> list[FunctionDeclaration]:
    """Return the functions that the client declares in the older form.

    Raises:
        InvalidRequestError: A function is declared twice, or the request mixes both forms.
    """
    if body.tools and (body.functions is not None or body.function_call is not None):
        reason = "cannot be used with functions and function_call: use tools and tool_choice only"
        raise (place / "tools").invalid(reason)
    if body.function_call is not None and not body.functions:
        raise (place / "function_call").invalid("needs functions: declare them, or leave it out")
    names: set[str] = set()
    at = place / "functions"
    declared = [declare(each, at / i, names) for i, each in enumerate(body.functions or ())]
    chosen = body.function_call
    if isinstance(chosen, FunctionName) and chosen.name not in names:
        raise place.at("function_call", "name").invalid("is none of the functions")
    return declared


def fill_choice(options: GenerationOptions, body: ConversationBody) -> None:
    """Set `tool_choice` to what `function_call` says."""
    chosen = body.function_call
    if chosen is None:
        return
    members = decode_members(options.extra_json or "{}")
    choice = (
        {"type": "function", "function": {"name": chosen.name}}
        if isinstance(chosen, FunctionName)
        else chosen
    )
    members["tool_choice"] = Raw(json.encode(choice))
    options.extra_json = json.encode(members).decode()
