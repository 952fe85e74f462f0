"""Which model does what Open WebUI asks for itself, and at whose expense."""

import structlog
from heddle.assistant.v1.assistant_pb2 import Assistant, ModelRef
from heddle_runtime.calls import caller
from heddle_runtime.errors import HeddleError
from heddle_runtime.identity import home
from heddle_runtime.owner_settings import OwnerSettings

log = structlog.get_logger(__name__)


class SmallModels:
    """Knows the small models of organisations and that of the environment."""

    def __init__(self, settings: OwnerSettings, environments: str) -> None:
        self._settings = settings
        self._environments = environments

    async def plain(self, found: Assistant) -> Assistant:
        """Return an assistant in place of `found` for a small task: a model and nothing else.

        The small model of the owner's organisation, which pays for it; for an assistant without an
        owner, the caller's. Else that of the environment, else the assistant's own.
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
        if model := _reference(await self._of(whose, found.owner)):
            plain.organization = whose
            plain.model.CopyFrom(model)
        elif model := _reference(self._environments):
            plain.model.CopyFrom(model)
        return plain

    async def _of(self, organization: str, owner: str) -> str:
        try:
            return (await self._settings.of(organization, owner)).small_model
        except HeddleError as error:  # a title is not worth a failure
            log.warning("small model not known", reason=error.reason)
            return ""


def _reference(name: str) -> ModelRef | None:
    connector, _, model = name.partition("/")
    return ModelRef(connector=connector, model=model) if connector and model else None
