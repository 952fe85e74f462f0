"""Requests that name an assistant but are not completions of it.

Open WebUI asks for titles, tags and the like of a chat. The assistant's tools and templates would
make each of them as expensive as a completion, so a small model writes them. Editors ask for the
prompt that a model would receive.
"""

import structlog
from heddle.account.v1.account_pb2 import ResolveSettingsResponse
from heddle.assistant.v1.assistant_pb2 import Assistant, GetAssistantRequest, ModelRef, User
from heddle.orchestrator.v1.orchestrator_pb2 import RunCompletionRequest
from heddle_runtime.errors import HeddleError, NotSetUpError, PermissionDeniedError
from heddle_runtime.identity.call_metadata import CALLER, caller
from heddle_runtime.identity.callers import home

from heddle_gateway.services import call
from heddle_gateway.state import State

IMAGE_CONNECTOR = "banana_img"
"""The connector that generates images and no text."""
_NO_TEXT_MODEL = (
    "The assistant generates images; Open WebUI's tasks need a model that generates text. Set "
    "HEDDLE_GATEWAY_SMALL_MODEL, or small_fast_model in the organisation's settings."
)
_NO_SMALL_MODEL = (
    "There is no small model. Set HEDDLE_GATEWAY_SMALL_MODEL, or small_fast_model in the "
    "organisation's settings."
)
log = structlog.get_logger(__name__)


async def task_assistant(
    state: State, assistant: Assistant, *, only_small: bool = False
) -> Assistant:
    """Return an assistant without tools that runs a task of `assistant`.

    Its model is the first of: the small model of the owner's organisation (of the caller's, if the
    assistant has no owner), which then pays; the small model of the gateway's settings; the
    assistant's own model, or the default model of the organisation if that generates images.

    Raises:
        NotSetUpError: There is no model that generates text; with `only_small`, no small one.
        HeddleError: The organisation's settings are needed and not available.
    """
    plain = Assistant(
        id=assistant.id,
        name=assistant.name,
        owner=assistant.owner,
        organization=assistant.organization,
        model=assistant.model,
    )
    organization = assistant.organization
    if not organization and not assistant.owner:
        organization = home(caller().identity)
    generates_images = assistant.model.connector == IMAGE_CONNECTOR
    default = _text_model(state.settings.small_model)
    settings = await organization_settings(
        state, organization, assistant.owner, required=generates_images and default is None
    )
    if model := _text_model(settings.small_model):
        plain.organization = organization
        plain.model.CopyFrom(model)
    elif default is not None:
        plain.model.CopyFrom(default)
    elif only_small:
        raise NotSetUpError(_NO_SMALL_MODEL)
    elif generates_images:
        model = _text_model(settings.default_model)
        if model is None:
            raise NotSetUpError(_NO_TEXT_MODEL)
        plain.organization = organization
        plain.model.CopyFrom(model)
    return plain


async def organization_settings(
    state: State, organization: str, owner: str = "", *, required: bool = False
) -> ResolveSettingsResponse:
    """Return the settings of an organisation, none if they are neither available nor required."""
    try:
        return await state.organizations.of(organization, owner)
    except HeddleError as error:
        if required:
            raise
        log.warning("organisation settings not available", reason=error.reason)
        return ResolveSettingsResponse()


def _text_model(reference: str) -> ModelRef | None:
    """Return the model of a reference `connector/model`, None if it does not generate text."""
    connector, _, model = reference.partition("/")
    if not (connector and model) or connector == IMAGE_CONNECTOR:
        return None
    return ModelRef(connector=connector, model=model)


_BYPASS = ModelRef(connector="bypass", model="debug-bypass")


async def task_request(
    state: State, request: RunCompletionRequest, *, only_small: bool = False
) -> RunCompletionRequest:
    """Return the request to a small model, without tools. The caller may use the assistant.

    Raises:
        HeddleError: The assistant is not available.
        NotSetUpError: With `only_small`: there is no small model.
    """
    plain = await task_assistant(state, await _assistant(state, request), only_small=only_small)
    _take_over(state)
    return RunCompletionRequest(
        assistant=plain,
        messages=request.messages,
        options=request.options,
        charged_to=plain.id,
    )


async def prompt_request(state: State, request: RunCompletionRequest) -> RunCompletionRequest:
    """Return the request that is answered with the finished prompt.

    Raises:
        PermissionDeniedError: The caller may use the assistant but not read it.
        HeddleError: The assistant is not available.
    """
    get = GetAssistantRequest(reference=request.assistant_reference)
    response = await call(state.services.assistants.GetAssistant, get)
    if not response.readable:
        raise PermissionDeniedError("Only those who may read the assistant see its prompt.")
    bypass = Assistant()
    bypass.CopyFrom(response.assistant)
    bypass.model.CopyFrom(_BYPASS)
    _take_over(state)
    return RunCompletionRequest(
        assistant=bypass,
        messages=request.messages,
        options=request.options,
        functions=request.functions,
    )


def _take_over(state: State) -> None:
    """Continue the request with the gateway's own identity.

    A caller that sends an assistant along counts as its owner: it pays, and reads with its own
    rights. This assistant keeps its owner, and the gateway has checked that the caller may use it.
    """
    CALLER.set(state.credentials.caller())


async def _assistant(state: State, request: RunCompletionRequest) -> Assistant:
    """Return the complete assistant of a request, which the caller may use."""
    user = caller().identity
    get = GetAssistantRequest(
        reference=request.assistant_reference,
        user=User(subject=user.subject, organization=user.organization, scopes=user.scopes),
    )
    with state.credentials.as_service():
        return (await call(state.services.assistants.GetAssistant, get)).assistant
