"""Following LAMB's database while this process has the claim."""

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import structlog
from google.protobuf.timestamp_pb2 import Timestamp
from heddle.assistant.v1 import following_pb2 as pb
from heddle.assistant.v1.following_pb2_grpc import FollowingServiceAsyncStub
from heddle_runtime.errors import ConflictError, HeddleError
from heddle_runtime.errors.conditions import Condition
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.serving.background import in_background

from heddle_migration_service.following.applying import Applying
from heddle_migration_service.following.comparing import compare
from heddle_migration_service.following.file_state import FileState, file_state
from heddle_migration_service.following.rows import SOURCES, Known, Source
from heddle_migration_service.row_batches import RowBatches

log = structlog.get_logger(__name__)
_LOOK_SECONDS = 0.75
_COMPARE_SECONDS = 60.0
_RETRY_SECONDS = 2.0
_CLAIM_SECONDS = 5.0
_UNEXPECTED = "Following failed. The log of the migration service says why."


class Follower:
    """Follows one LAMB database."""

    def __init__(
        self,
        path: Path,
        prefix: str | None,
        stub: FollowingServiceAsyncStub,
        credentials: ServiceCredentials,
        batches: RowBatches,
    ) -> None:
        """Set up the following.

        Args:
            path: LAMB's database.
            prefix: What LAMB's tables are called before `assistants`. If None, that is found out.
            stub: The assistants service.
            credentials: Of this service.
            batches: Imports rows that are new.
        """
        self._path = path.absolute()
        self._prefix = prefix
        self._stub = stub
        self._credentials = credentials
        self._claimant = uuid.uuid4().hex
        self._applying = Applying(stub, credentials, batches, self._claimant)
        self._claimed = False
        self._problem = ""
        self._compared_at = 0.0
        self._changed_at = 0.0

    async def check(self) -> Condition:
        """Return the condition of the following. The service works without it."""
        summary = f"follows {self._path}" if self._claimed else "another process follows, or none"
        return Condition(self._problem, summary=summary)

    async def run(self) -> None:
        """Follow until the task is cancelled."""
        try:
            while True:
                if await self._claim():
                    log.info("following begins", database=str(self._path))
                    async with self._renewing() as lost:
                        await self._follow(lost)
                    log.info("following ends", database=str(self._path))
                await asyncio.sleep(_CLAIM_SECONDS)
        finally:
            if self._claimed:
                with suppress(HeddleError):  # the claim ends by itself then
                    await asyncio.shield(self._claim(release=True))

    async def _follow(self, lost: asyncio.Event) -> None:
        """Look for changes again and again while this process has the claim."""
        known: dict[Source, Known] = {}
        seen: FileState | None = None
        compared = time.monotonic()
        while not lost.is_set():
            state, now = file_state(self._path), time.monotonic()
            is_due = now - compared >= _COMPARE_SECONDS
            pause = _LOOK_SECONDS
            if is_due or not state.is_as(seen):
                try:
                    known = known or {each: await self._applying.known(each) for each in SOURCES}
                    await self._compare(known, retry=is_due)
                except ConflictError:  # another process has the claim
                    return
                except HeddleError as error:
                    self._set_problem(error.diagnosis or error.message)
                except Exception:  # nothing awaits this task: an error must not end it
                    log.exception("following failed")
                    self._set_problem(_UNEXPECTED)
                else:
                    self._set_problem("")
                    self._compared_at = time.time()
                    seen, compared = state, now if is_due else compared
                if self._problem:
                    known, seen, pause = {}, None, _RETRY_SECONDS
            with suppress(TimeoutError):
                await asyncio.wait_for(lost.wait(), pause)

    async def _compare(self, known: dict[Source, Known], *, retry: bool) -> None:
        """Apply what changed, and with `retry` also rows that were refused."""
        if retry:
            for each in known.values():
                each.retry()
        is_complete = False
        while not is_complete:
            comparison = await compare(self._path, self._prefix, known)
            is_complete = comparison.is_complete
            for batch in comparison.batches:
                name = batch.source.name
                if count := await self._applying.apply(batch, known[batch.source]):
                    self._changed_at = time.time()
                    log.info("rows of LAMB applied", table=name, rows=count, gone=len(batch.gone))

    @asynccontextmanager
    async def _renewing(self) -> AsyncGenerator[asyncio.Event]:
        """Renew the claim until the block ends; yield what is set when the claim is lost."""
        lost = asyncio.Event()

        async def renew() -> None:
            while not lost.is_set():
                await asyncio.sleep(_CLAIM_SECONDS)
                if not await self._claim():
                    lost.set()

        async with in_background(renew()):
            yield lost

    async def _claim(self, *, release: bool = False) -> bool:
        """Claim the following, and report; return whether this process follows."""
        report = pb.FollowingReport(
            compare_time=_timestamp(self._compared_at),
            change_time=_timestamp(self._changed_at),
            problem=self._problem,
        )
        request = pb.ClaimFollowingRequest(
            claimant=self._claimant,
            release=release,
            report=report if self._claimed else None,
        )
        try:
            response = await self._credentials.call(self._stub.ClaimFollowing, request)
        except HeddleError as error:  # each write of rows requires the claim anyway
            log.info("following not claimed", cause=error.message)
            return self._claimed
        except Exception:  # nothing awaits this task: an error must not end it
            log.exception("claiming failed")
            return self._claimed
        self._claimed = response.claimed
        return self._claimed

    def _set_problem(self, problem: str) -> None:
        if problem == self._problem:
            return
        self._problem = problem
        if problem:
            log.warning("LAMB's database is not followed", problem=problem)
        else:
            log.info("LAMB's database is followed again")


def _timestamp(seconds: float) -> Timestamp | None:
    return Timestamp(seconds=int(seconds)) if seconds else None
