"""The scripted services as two replicas, which share a script and what they are called with."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from gateway.neighbours import Neighbours
from heddle_gateway.services import SERVICES
from heddle_runtime.serving.server import Binding, running
from heddle_runtime.settings.service import ServiceSettings
from patience import until


@dataclass(frozen=True)
class Scripted:
    """Two servers in the process of the tests, for gateways in processes of their own."""

    neighbours: Neighbours
    address: str

    def settings(self, *real: str) -> dict[str, str]:
        """Return what a gateway finds all of them by, except `real` services."""
        return {f"{name}_address": self.address for name in SERVICES if name not in real}

    async def reset(self) -> None:
        """Forget the script of an earlier test when its last run has ended."""
        await until(lambda: not self.neighbours.orchestrator.running)
        self.neighbours.reset()


@asynccontextmanager
async def serving_twice(secret: str) -> AsyncGenerator[Scripted]:
    """Serve scripted services at two addresses."""
    neighbours = Neighbours()
    settings = ServiceSettings.model_validate(
        {"HEDDLE_IDENTITY_SECRET": secret, "drain_wait": 0.0, "shutdown_grace": 0.2}
    )

    @asynccontextmanager
    async def app() -> AsyncGenerator[Sequence[Binding]]:
        yield neighbours.bindings()

    async with AsyncExitStack() as exits:
        replicas = [await exits.enter_async_context(running(app(), settings)) for _ in range(2)]
        addresses = ",".join(each.address for each in replicas)
        yield Scripted(neighbours, f"ipv4:{addresses}")
