"""What all requests of a gateway share."""

from dataclasses import dataclass, field

from heddle_gateway.auth import Gate
from heddle_gateway.health import Health
from heddle_gateway.lifeline import Lifelines
from heddle_gateway.peers import Peers
from heddle_gateway.settings import GatewaySettings


@dataclass(slots=True)
class State:
    """A gateway at work."""

    settings: GatewaySettings
    peers: Peers
    gate: Gate
    health: Health
    lifelines: Lifelines = field(default_factory=Lifelines)
    stopping: bool = False
    """Whether new requests should go to another gateway."""
