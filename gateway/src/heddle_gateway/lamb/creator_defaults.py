"""What LAMB's editor starts a new assistant with."""

from typing import TYPE_CHECKING, Any

import structlog
from heddle.account.v1.account_pb2 import ResolveSettingsResponse
from heddle.connector.v1.connector_pb2 import ListModelsRequest
from heddle_runtime.call_metadata import caller
from heddle_runtime.errors import HeddleError
from heddle_runtime.identity import home

from heddle_gateway.admin.assistants import TIMEOUT
from heddle_gateway.http.raw import RawRequest, RawResponse
from heddle_gateway.openai.chat import run_events
from heddle_gateway.services import ask

if TYPE_CHECKING:
    from heddle_gateway.state import State

log = structlog.get_logger(__name__)
DEFAULT_MODEL = ("openai", "gpt-4o-mini")
_BUILT_IN: dict[str, Any] = {
    "system_prompt": "",
    "prompt_template": "{context}\n\n{user_input}",
    "prompt_processor": "simple_augment",
    "connector": "",
    "llm": "",
    "rag_processor": "no_rag",
    "RAG_Top_k": 3,
    "rag_placeholders": ["{context}", "{user_input}", "{moodle_user}"],
}


async def defaults(state: "State", _: RawRequest) -> RawResponse:
    """Answer `GET …/defaults`: what the caller's organisation says, over what is built in."""
    settings = await _settings(state)
    said = run_events.members(settings.assistant_defaults_json)
    told = said | {name: _fitting(said.get(name), usual) for name, usual in _BUILT_IN.items()}
    if not (told["connector"] and told["llm"]):
        told["connector"], told["llm"] = await _model(state, settings, told["connector"])
    return RawResponse.json(told)


def _fitting(said: object, usual: object) -> object:
    """Return what an organisation says, unless no editor could start with it."""
    if isinstance(said, str) and said.isdecimal() and isinstance(usual, int):
        return int(said)  # LAMB writes numbers as texts
    return said if type(said) is type(usual) else usual


async def _settings(state: "State") -> ResolveSettingsResponse:
    try:
        return await state.organizations.of(home(caller().identity), "")
    except HeddleError as error:  # an editor is of use without
        log.warning("an organisation's defaults are not known", reason=error.reason)
        return ResolveSettingsResponse()


async def _model(
    state: "State", settings: ResolveSettingsResponse, wanted: object
) -> tuple[object, str]:
    """Return a connector and a model of it, ready to answer if there is such a one.

    The organisation's default, else the first that is ready; of the connector `wanted`, if one is.
    """
    connector, _, model = settings.default_model.partition("/")
    if model and wanted in ("", connector):
        return connector, model
    try:
        page = await ask(state.services.connectors.ListModels, ListModelsRequest(), TIMEOUT)
    except HeddleError:  # an editor is of use without
        ready = []
    else:
        ready = [(found.ref.connector, found.ref.model) for found in page.models]
    if wanted:
        return wanted, next((model for connector, model in ready if connector == wanted), "")
    preferred = [each for each in ready if each[0] == DEFAULT_MODEL[0]]
    return next(iter([*preferred, *ready]), DEFAULT_MODEL)
