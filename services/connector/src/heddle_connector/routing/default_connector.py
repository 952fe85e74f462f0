"""The connector that stands for the default model of each organisation."""

from collections.abc import AsyncGenerator, Sequence

from heddle_runtime.contract.default_model import DEFAULT_CONNECTOR, DEFAULT_MODEL
from heddle_runtime.errors import NoModelError

from heddle_connector.generation.call import Call
from heddle_connector.generation.events import Event
from heddle_connector.sdk import Connector, Model, NoSettings, connector


@connector(
    DEFAULT_CONNECTOR,
    for_all_organizations=True,
    uses_model=False,
)
class DefaultModel(Connector[NoSettings]):
    """The default model of the organisation; without one, answers quote what tools found."""

    # `TenantConnectors` calls the connector of the default model in its place.

    @property
    def only_models(self) -> Sequence[str]:
        """The name that assistants use."""
        return [DEFAULT_MODEL]

    async def models(self, seconds: float) -> Sequence[Model]:
        """Return the model that stands for the default model."""
        return [Model(DEFAULT_MODEL, "Default model")]

    async def generate(self, call: Call) -> AsyncGenerator[Sequence[Event], None]:
        """Refuse the call: no model is connected."""
        raise NoModelError("No model is connected. See “Connect a model” in the studio.")
        yield ()
