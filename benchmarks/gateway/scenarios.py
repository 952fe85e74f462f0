"""The kinds of load."""

from dataclasses import dataclass

from benchmarks.gateway.jobs import Job
from benchmarks.gateway.systems import System


@dataclass(frozen=True, slots=True)
class Scenario:
    """One kind of load, the same for every system."""

    name: str
    title: str
    clients: int
    tokens: int
    stream: bool = False
    pace_ms: int = 0
    seconds: float = 1.5
    requests: int = 1_000_000

    @property
    def unit(self) -> str:
        """What costs are told per."""
        return "token" if self.stream else "request"

    def job(self, system: System, share: float = 1.0) -> Job:
        """Return this load for one system, or a `share` of its time."""
        return Job(
            port=system.port,
            path=system.path,
            model=system.model,
            clients=self.clients,
            tokens=self.tokens,
            stream=self.stream,
            pace_ms=self.pace_ms,
            seconds=self.seconds * share,
            requests=self.requests,
        )


SCENARIOS = (
    Scenario("unary_c1", "whole answers, 1 client", clients=1, tokens=16, seconds=1.0),
    Scenario("unary_c16", "whole answers, 16 clients", clients=16, tokens=16),
    Scenario(
        "paced_c64",
        "64 streams of 60 tokens, one each 20 ms",
        clients=64,
        tokens=60,
        stream=True,
        pace_ms=20,
        requests=64,
    ),
    Scenario(
        "flood_c64",
        "64 streams of 200 tokens, as fast as they go",
        clients=64,
        tokens=200,
        stream=True,
        seconds=1.0,
    ),
)
