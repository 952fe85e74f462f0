"""What services report of their health."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from heddle.health.v1.health_pb2 import Component, GetHealthRequest
from heddle.health.v1.health_pb2_grpc import HealthServiceStub
from heddle_runtime.errors import DeadlineError, HeddleError, UnavailableError
from heddle_runtime.settings.service_address import Location

from heddle_cli.connections import addresses, connected, replicas
from heddle_cli.failures import sentence

_TIMEOUT = 5.0


@dataclass(frozen=True, slots=True)
class Report:
    """The health of one replica of a service."""

    service: str
    """The name, with the address if there are several replicas."""
    address: str = ""
    problem: str = ""
    """Why nothing is known of its components, else empty."""
    answers: bool = True
    """Whether it answers at all, also with an error."""
    components: Sequence[Component] = ()
    version: str = ""

    @property
    def ready(self) -> bool:
        """Whether the service can work."""
        return not self.problem and all(each.ready for each in self.components)


def reports() -> list[Report]:
    """Ask every replica of the services, all at the same time."""
    places = addresses()
    with ThreadPoolExecutor() as pool:
        of_services = pool.map(_service_reports, places, places.values())
        return [each for of_service in of_services for each in of_service]


def _service_reports(service: str, address: str) -> list[Report]:
    try:
        locations = replicas(address)
    except HeddleError as error:
        return [Report(service, address, sentence(error), answers=False)]
    if len(locations) == 1:
        return [_report(service, locations[0])]
    return [_report(f"{service} {each}", each) for each in locations]


def _report(service: str, location: Location) -> Report:
    address = str(location)
    try:
        with connected(location, HealthServiceStub) as connection:
            response = connection.stub.GetHealth(GetHealthRequest(), timeout=_TIMEOUT)
    except HeddleError as error:
        answers = not isinstance(error, UnavailableError | DeadlineError)
        return Report(service, address, sentence(error), answers)
    return Report(service, address, components=tuple(response.components), version=response.version)
