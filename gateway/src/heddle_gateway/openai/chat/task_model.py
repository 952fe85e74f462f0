"""Selects the model for Open WebUI's tasks, such as titles and tags, and who pays for it."""

import structlog
from heddle.account.v1.account_pb2 import ResolveSettingsResponse
from heddle.assistant.v1.assistant_pb2 import Assistant, ModelRef
from heddle_runtime.errors import HeddleError, NotSetUpError
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.callers import home

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
