"""Which model does what Open WebUI asks for itself, and at whose expense."""

import structlog
from heddle.account.v1.account_pb2 import ResolveSettingsResponse
from heddle.assistant.v1.assistant_pb2 import Assistant, ModelRef
from heddle_runtime.call_metadata import caller
from heddle_runtime.errors import HeddleError, NotSetUpError
from heddle_runtime.identity import home
from heddle_runtime.organization_settings import OrganizationSettings

PICTURES = "banana_img"
"""The connector that makes pictures and writes nothing."""
_NO_WRITER = (
    "The assistant makes pictures; what Open WebUI asks for itself needs a model that writes. Set "
    "HEDDLE_GATEWAY_SMALL_MODEL, or small_fast_model in the organisation's settings."
)
log = structlog.get_logger(__name__)


class SmallModels:
    """Knows the small models of organisations and that of the environment."""

    def __init__(self, settings: OrganizationSettings, environments: str) -> None:
        self._settings = settings
        self._environments = environments

    async def plain(self, found: Assistant) -> Assistant:
        """Return an assistant in place of `found` for a small task: a model and nothing else.

        The small model of the owner's organisation, which pays for it; for an assistant without an
        owner, the caller's. Else that of the environment, else the assistant's own; one that makes
        pictures writes nothing, and the organisation's default model does.

        Raises:
            NotSetUpError: No model is set up that writes.
            HeddleError: Whether one is cannot be found out.
        """
        plain = Assistant(
            id=found.id,
            name=found.name,
            owner=found.owner,
            organization=found.organization,
            model=found.model,
        )
        whose = found.organization
        if not whose and not found.owner:
            whose = home(caller().identity)
        draws = found.model.connector == PICTURES
        environments = _reference(self._environments)
        settings = await self._of(whose, found.owner, needed=draws and environments is None)
        if model := _reference(settings.small_model):
            plain.organization = whose
            plain.model.CopyFrom(model)
        elif environments is not None:
            plain.model.CopyFrom(environments)
        elif draws:
            model = _reference(settings.default_model)
            if model is None:
                raise NotSetUpError(_NO_WRITER)
            plain.organization = whose
            plain.model.CopyFrom(model)
        return plain

    async def _of(self, organization: str, owner: str, *, needed: bool) -> ResolveSettingsResponse:
        try:
            return await self._settings.of(organization, owner)
        except HeddleError as error:
            if needed:
                raise
            # Else a title is not worth a failure.
            log.warning("small model not known", reason=error.reason)
            return ResolveSettingsResponse()


def _reference(name: str) -> ModelRef | None:
    """Return a model that writes, None if `name` is of none."""
    connector, _, model = name.partition("/")
    if not (connector and model) or connector == PICTURES:
        return None
    return ModelRef(connector=connector, model=model)
