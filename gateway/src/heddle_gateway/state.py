"""What all requests of a gateway share."""

from dataclasses import dataclass, field

from heddle_runtime.organization_settings import OrganizationSettings
from heddle_runtime.service_credentials import ServiceCredentials

from heddle_gateway.auth import Gate
from heddle_gateway.health import Health
from heddle_gateway.lifeline import Lifelines
from heddle_gateway.peers import Peers
from heddle_gateway.settings import GatewaySettings
from heddle_gateway.small_models import SmallModels


@dataclass(slots=True)
class State:
    """A gateway at work."""

    settings: GatewaySettings
    peers: Peers
    gate: Gate
    health: Health
    acting: ServiceCredentials
    """The gateway's own identity, for what it asks for itself."""
    organizations: OrganizationSettings
    """What organisations have set up, without what opens their servers."""
    small_models: SmallModels
    lifelines: Lifelines = field(default_factory=Lifelines)
    stopping: bool = False
    """Whether new requests should go to another gateway."""
