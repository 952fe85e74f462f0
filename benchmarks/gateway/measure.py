"""Putting load on one system and reading what it cost."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec

from benchmarks.gateway import accounting
from benchmarks.gateway.jobs import Job, Outcome
from benchmarks.gateway.processes import REPOSITORY, stop
from benchmarks.gateway.scenarios import Scenario
from benchmarks.gateway.systems import System

READY_WITHIN = 240.0
"""Seconds. Seven Python services, or LiteLLM, need some on a busy machine."""
POLL = 0.1
SETTLE = 0.05
"""Seconds after the last answer in which a system still writes its logs, at its own cost."""
_ONE_REQUEST = Scenario("ready", "one answer", clients=1, tokens=1, requests=1)


class NotReadyError(Exception):
    """Raised when a system does not come up. The message holds what its processes said last."""


class Measurement(msgspec.Struct, frozen=True):
    """One system under one load in one round."""

    system: str
    scenario: str
    round: int
    outcome: Outcome
    rate: float
    """Requests or tokens in a second, as the scenario counts."""
    cpu: float
    """CPU microseconds for each of them."""
    memory: float
    """MiB."""
    foreign: float
    """Share of the machine's CPU time that went to neither the systems nor the benchmark."""


class LoadClient:
    """The load client's process."""

    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        self._popen = popen
        self._outcomes = msgspec.json.Decoder(Outcome)

    def run(self, job: Job) -> Outcome:
        """Wait for `job`; the client itself ends one that takes too long."""
        given, said = self._popen.stdin, self._popen.stdout
        if given is None or said is None:
            raise RuntimeError("The load client was started without pipes.")
        given.write(msgspec.json.encode(job) + b"\n")
        given.flush()
        if not (line := said.readline()):
            raise RuntimeError("The load client has ended. It said why above.")
        return self._outcomes.decode(line)


@contextmanager
def load_client() -> Iterator[LoadClient]:
    """Run the load client until the block is left."""
    popen = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.gateway.client"],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield LoadClient(popen)
    finally:
        stop([popen])


def wait_until_ready(systems: Sequence[System], client: LoadClient) -> None:
    """Ask each system until it answers rightly."""
    until = time.monotonic() + READY_WITHIN
    for system in systems:
        while error := client.run(_ONE_REQUEST.job(system)).first_error:
            ended = [one for one in system.processes if one.popen.poll() is not None]
            if ended or time.monotonic() > until:
                said = [one.complaint() for one in ended or system.processes]
                raise NotReadyError("\n".join([f"{system.name} is not ready: {error}", *said]))
            time.sleep(POLL)


def measure(system: System, scenario: Scenario, client: LoadClient, number: int) -> Measurement:
    """Put the load of `scenario` on `system` in round `number`."""
    clock, machine = time.monotonic(), accounting.machine_seconds()
    ours, used = accounting.our_seconds(), accounting.cpu_seconds(system.pids)
    outcome = client.run(scenario.job(system))
    time.sleep(SETTLE)
    used = accounting.cpu_seconds(system.pids) - used
    ours = accounting.our_seconds() - ours
    machine = accounting.machine_seconds() - machine
    clock = time.monotonic() - clock
    units = outcome.tokens if scenario.stream else outcome.requests
    return Measurement(
        system=system.name,
        scenario=scenario.name,
        round=number,
        outcome=outcome,
        rate=units / outcome.seconds,
        cpu=used / max(units, 1) * 1e6,
        memory=accounting.memory(system.pids),
        foreign=max(0.0, machine - ours) / (clock * (os.cpu_count() or 1)),
    )
