"""Manages the replicas of a service, which come and go, and distributes calls among them."""

import asyncio
import random
from collections.abc import Callable, Iterator

import grpc
import structlog

from heddle_runtime.rpc.multiplex.client import ClientStream, Metadata
from heddle_runtime.rpc.multiplex.replica import Replica
from heddle_runtime.settings.service_address import Location, ServiceAddress, list_target

log = structlog.get_logger(__name__)
LOOKUP_SECONDS = 2.0
"""Seconds between lookups of names, after which a replica that was added gets calls."""
_LOOKUP_TIMEOUT_SECONDS = 10.0
_LEAVE_SECONDS = 3_600.0
"""Seconds that calls may take to end after their replica has left the list."""
Connect = Callable[[Location, bool], grpc.aio.Channel]
"""Returns a new connection. The second argument says whether gRPC checks the health first."""


class ReplicaSet:
    """The replicas of a service. They take turns."""

    def __init__(
        self,
        address: ServiceAddress,
        connect: Connect,
        services: set[str],
        stream_metadata: Callable[[], Metadata],
    ) -> None:
        """Prepare.

        Args:
            address: The address of the replicas.
            connect: Returns a new connection to a replica, or to all of them.
            services: The names of the services, for the log.
            stream_metadata: Returns the metadata that opens a stream.
        """
        self._address = address
        self._connect = connect
        self._services = services
        self._stream_metadata = stream_metadata
        self._replicas: dict[Location, Replica] = {}
        self._departed: dict[Replica | grpc.aio.Channel, asyncio.Task[None]] = {}
        """The replicas that left while calls may be open, each with the task that closes it."""
        self._lookups: asyncio.Task[None] | None = None
        self._looked_up = asyncio.Event()
        self._failing = False
        # Clients that make few calls would otherwise all begin with the same replica.
        self._turn = random.randrange(1_000)  # noqa: S311 - not a secret
        self._first_calls: grpc.aio.Channel | None = None
        """A connection to all replicas, for calls that begin while there is no stream."""
        if address.changes:
            first = next(host for host in address.hosts if not host.is_literal)
            # Until the names are looked up, gRPC does it for the first calls.
            self._first_calls = connect(Location(f"dns:///{first}"), True)  # noqa: FBT003 - see `Connect`
        else:
            self._replace(address.locations)

    def __iter__(self) -> Iterator[Replica]:
        return iter(self._replicas.values())

    def by_address(self) -> dict[str, Replica]:
        """Return the replicas by their addresses. None, until their names are looked up."""
        self._watch()
        return {str(location): replica for location, replica in self._replicas.items()}

    def pick(self) -> ClientStream | None:
        """Return a stream to the replica whose turn it is, of those that have streams.

        Replicas that report that they cannot work get calls only if no other one is there.
        """
        self._watch()
        self._turn += 1
        # All are asked, so that they open streams.
        streams = [stream for replica in self if (stream := replica.pick_stream())]
        usable = [stream for stream in streams if stream.serving] or streams
        return usable[self._turn % len(usable)] if usable else None

    def connection(self, stream: ClientStream | None = None) -> grpc.aio.Channel:
        """Return the connection for a plain call: of a stream, because its replica works."""
        if stream is not None:
            return stream.connection
        return self._first_calls or next(iter(self)).connection

    def is_open(self, stream: ClientStream) -> bool:
        """Return whether a stream takes calls."""
        return any(stream in replica.streams for replica in self)

    @property
    def silent(self) -> bool:
        """Whether all replicas hang."""
        return bool(self._replicas) and all(replica.silent for replica in self)

    async def attempt(self) -> None:
        """Wait until there is a connection, and streams are open or could not be opened."""
        self._watch()
        if self._lookups is not None:
            await self._looked_up.wait()
        await self.connection().channel_ready()
        await asyncio.gather(*(replica.attempt() for replica in self))

    async def close(self, grace: float | None) -> None:
        """End all calls and the connections, after `grace` seconds at the latest."""
        departed = dict(self._departed)
        tasks = [*departed.values(), *([self._lookups] if self._lookups else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(each.close(grace) for each in [*self, *departed]))
        if self._first_calls is not None:
            await self._first_calls.close(grace)

    def _watch(self) -> None:
        if self._address.changes and self._lookups is None:
            self._lookups = asyncio.get_running_loop().create_task(self._look_up())

    async def _look_up(self) -> None:
        while True:
            try:
                async with asyncio.timeout(_LOOKUP_TIMEOUT_SECONDS):
                    locations = await self._address.resolve()
            except (OSError, UnicodeError) as error:  # `TimeoutError` is an `OSError`
                self._report(error)
            else:
                self._failing = False
                self._update(locations)
            self._looked_up.set()
            await asyncio.sleep(LOOKUP_SECONDS)

    def _report(self, error: Exception) -> None:
        """Log that a lookup failed, once. The replicas that were found stay."""
        if not self._failing:
            names = ", ".join(map(str, self._address.hosts))
            log.warning("cannot look up a service", address=names, problem=str(error))
        self._failing = True

    def _update(self, locations: list[Location]) -> None:
        if set(locations) == set(self._replicas):
            return
        came = [each.target for each in locations if each not in self._replicas]
        left = [each.target for each in self._replicas if each not in locations]
        services = sorted(self._services)
        log.info("replicas of a service changed", services=services, came=came, left=left)
        self._replace(locations)
        for replica in self:
            replica.pick_stream()

    def _replace(self, locations: list[Location]) -> None:
        """Replace the replicas. Calls at those that left continue; new ones go elsewhere."""
        former = self._replicas
        self._replicas = {each: former.get(each) or self._new_replica(each) for each in locations}
        for location, replica in former.items():
            if location not in self._replicas:
                self._depart(replica)
        if self._first_calls is not None:
            self._depart(self._first_calls)
        several = len(locations) > 1
        self._first_calls = self._connect(self._all_of(locations), True) if several else None  # noqa: FBT003 - see `Connect`

    def _new_replica(self, location: Location) -> Replica:
        def connect() -> grpc.aio.Channel:
            return self._connect(location, False)  # noqa: FBT003 - see `Connect`

        return Replica(connect, self._services, self._stream_metadata)

    def _all_of(self, locations: list[Location]) -> Location:
        return Location(list_target(locations), locations[0].authority)

    def _depart(self, left: Replica | grpc.aio.Channel) -> None:
        """Close a replica that takes no new calls when its last call ends."""
        task = asyncio.get_running_loop().create_task(left.close(_LEAVE_SECONDS))
        self._departed[left] = task
        task.add_done_callback(lambda _: self._departed.pop(left, None))
