"""The values of a new assistant in LAMB's editor."""

from typing import Annotated, Any

from heddle.account.v1.account_pb2 import ResolveSettingsResponse
from heddle.connector.v1.connector_pb2 import ListModelsRequest
from heddle_gateway.http.models import DocumentedAs, Model
from heddle_gateway.openai.chat.open_webui_tasks import organization_settings
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import call
from heddle_gateway.state import State
from heddle_runtime.contract.json_text import members
from heddle_runtime.errors import HeddleError
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.callers import home
from pydantic import Field

DEFAULT_MODEL = ("openai", "gpt-4o-mini")
routes = Routes("creator")


class CreatorDefaults(Model):
    """The members of a new assistant, and the placeholders of its template."""

    system_prompt: str = ""
    prompt_template: str = "{context}\n\n{user_input}"
    prompt_processor: str = "simple_augment"
    connector: str = ""
    llm: str = ""
    rag_processor: str = "no_rag"
    RAG_Top_k: int = 3
    rag_placeholders: list[str] = Field(default=["{context}", "{user_input}", "{moodle_user}"])


@routes.get("/creator/assistant/defaults")
async def defaults(api: Call) -> Annotated[dict[str, Any], DocumentedAs(CreatorDefaults)]:
    """Return the values of a new assistant.

    `assistant_defaults` in the settings of the caller's organisation override Heddle's values and
    can have other members.
    """
    settings = await organization_settings(api.state, home(caller().identity))
    own = members(settings.assistant_defaults_json)
    builtin = CreatorDefaults().model_dump()
    values = own | {name: _value(own.get(name), default) for name, default in builtin.items()}
    if not (values["connector"] and values["llm"]):
        values["connector"], values["llm"] = await _model(api.state, settings, values["connector"])
    return values


def _value(own: object, default: object) -> object:
    """Return the value of an organisation, or the default if its type is wrong."""
    if isinstance(own, str) and own.isdecimal() and isinstance(default, int):
        return int(own)  # LAMB writes numbers as texts
    return own if type(own) is type(default) else default


async def _model(
    state: State, settings: ResolveSettingsResponse, preferred: object
) -> tuple[object, str]:
    """Return a connector and one of its models, available if possible.

    That is the organisation's default, or the first available model; of the connector `preferred`
    if that is set.
    """
    connector, _, model = settings.default_model.partition("/")
    if model and preferred in ("", connector):
        return connector, model
    try:
        page = await call(state.services.connectors.ListModels, ListModelsRequest())
    except HeddleError:  # the editor works without them
        available = []
    else:
        available = [(each.ref.connector, each.ref.model) for each in page.models]
    if preferred:
        models = (model for connector, model in available if connector == preferred)
        return preferred, next(models, "")
    first = [each for each in available if each[0] == DEFAULT_MODEL[0]]
    return next(iter([*first, *available]), DEFAULT_MODEL)
