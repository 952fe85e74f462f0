"""Works on the jobs that the assistants service stores."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing, suppress

import structlog
from heddle.assistant.v1 import jobs_pb2 as pb
from heddle.assistant.v1.jobs_pb2_grpc import JobServiceAsyncStub
from heddle.migration.v1.migration_pb2 import (
    Finding,
    LeftBehind,
    Progress,
    RunMigrationRequest,
    RunMigrationResponse,
)
from heddle_runtime.errors import ConflictError, HeddleError, UnavailableError
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.serving.background import in_background

from heddle_migration_service.batch_jobs.work import Work
from heddle_migration_service.import_report import left_note

log = structlog.get_logger(__name__)
_POLL_SECONDS = 10.0
_RENEWAL_SECONDS = 5.0
_PATIENCE_SECONDS = 60.0
_RETRY_SECONDS = 1.0
_MAX_FINDINGS = 500
_UNEXPECTED = "The migration service failed. Its log says why."


class JobRunner:
    """Claims one job at a time, works on it, and reports its progress."""

    def __init__(
        self,
        stub: JobServiceAsyncStub,
        credentials: ServiceCredentials,
        work: Work,
    ) -> None:
        self._stub = stub
        self._credentials = credentials
        self._work = work
        self._claimant = uuid.uuid4().hex
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Look for a job now."""
        self._woken.set()

    async def run(self) -> None:
        """Work on jobs until the task is cancelled."""
        while True:
            self._woken.clear()
            try:
                request = pb.ClaimJobRequest(claimant=self._claimant)
                response = await self._credentials.call(self._stub.ClaimJob, request)
                if response.HasField("job"):
                    await self._run(response.job)
                    continue
            except HeddleError as error:  # the assistants service is not there, or not yet
                log.info("no job claimed", cause=error.message)
            except Exception:  # nothing awaits this task: an error must not end it
                log.exception("looking for jobs failed")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), _POLL_SECONDS)

    async def _run(self, job: pb.Job) -> None:
        log.info("job begins", job=job.id, kind=job.kind, interruptions=job.interruptions)
        run = _Run(job, self._claimant, self._stub, self._credentials)
        try:
            request = RunMigrationRequest(
                kind=job.kind, dry_run=job.dry_run, discard_edits=job.discard_edits
            )
            async with aclosing(self._work.run(request)) as steps:
                await run.follow(steps)
        except ConflictError:
            log.warning("another service goes on with the job", job=job.id)
        except asyncio.CancelledError:
            with suppress(HeddleError):  # its claim ends by itself then
                await asyncio.shield(run.report(state=pb.JOB_STATE_QUEUED))
            raise
        except HeddleError as error:
            await run.report(state=pb.JOB_STATE_FAILED, error=error.message)
        except Exception:
            log.exception("job failed", job=job.id)
            await run.report(state=pb.JOB_STATE_FAILED, error=_UNEXPECTED)


class _Run:
    """The work on one job."""

    def __init__(
        self,
        job: pb.Job,
        claimant: str,
        stub: JobServiceAsyncStub,
        credentials: ServiceCredentials,
    ) -> None:
        self._id = job.id
        self._claimant = claimant
        self._stub = stub
        self._credentials = credentials
        # A dry run changes nothing, so it sees all rows again.
        self._earlier = {} if job.dry_run else {each.name: each for each in job.tables}
        self._tables = {each.name: each for each in job.tables}

    async def follow(self, steps: AsyncGenerator[RunMigrationResponse]) -> None:
        """Report each step until the last one, or until the job shall stop."""
        async with in_background(self._renew()):
            state = await self._follow(steps)
        await self.report(state=state)

    async def _follow(self, steps: AsyncGenerator[RunMigrationResponse]) -> "pb.JobState.ValueType":
        if await self.report():
            return pb.JOB_STATE_STOPPED
        async for step in steps:
            if step.HasField("progress"):
                earlier = self._earlier.get(step.table) or pb.JobTable(name=step.table)
                self._tables[step.table] = merged(earlier, step.progress)
            findings = [_finding(step.table, each) for each in step.findings]
            if await self._report_all([*findings, *map(_left_behind, step.left_behind)]):
                return pb.JOB_STATE_STOPPED
        return pb.JOB_STATE_DONE

    async def _report_all(self, findings: list[pb.JobFinding]) -> bool:
        stop = False
        for start in range(0, max(1, len(findings)), _MAX_FINDINGS):
            part = findings[start : start + _MAX_FINDINGS]
            stop = await self.report(tables=self._tables.values(), findings=part)
        return stop

    async def report(
        self,
        tables: Iterable[pb.JobTable] = (),
        findings: Iterable[pb.JobFinding] = (),
        state: "pb.JobState.ValueType" = pb.JOB_STATE_UNSPECIFIED,
        error: str = "",
    ) -> bool:
        """Report to the assistants service, and return whether the job shall stop."""
        request = pb.ReportJobRequest(
            id=self._id,
            claimant=self._claimant,
            tables=tables,
            findings=findings,
            state=state,
            error=error,
        )
        method = self._stub.ReportJob
        return (await _patiently(lambda: self._credentials.call(method, request))).stop

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(_RENEWAL_SECONDS)
            await self.report()


def merged(earlier: pb.JobTable, progress: Progress) -> pb.JobTable:
    """Return the progress of a table, counting what was changed before an interruption.

    These rows are among the first that are read again, and need no change, unless something else
    has changed them meanwhile.

    Args:
        earlier: The progress before the interruption.
        progress: The progress since then.
    """
    changed = progress.changed + earlier.changed
    return pb.JobTable(
        name=earlier.name,
        total=progress.total,
        changed=min(changed, progress.total - progress.refused),
        unchanged=max(0, progress.unchanged - earlier.changed),
        refused=progress.refused,
    )


async def _patiently(
    call: Callable[[], Awaitable[pb.ReportJobResponse]],
) -> pb.ReportJobResponse:
    """Return the response of a call that is repeated while the service is not available."""
    until = asyncio.get_running_loop().time() + _PATIENCE_SECONDS
    while True:
        try:
            return await call()
        except UnavailableError:
            if asyncio.get_running_loop().time() > until:
                raise
        await asyncio.sleep(_RETRY_SECONDS)


def _left_behind(left: LeftBehind) -> pb.JobFinding:
    return pb.JobFinding(table=left.table, notes=[left_note(left.rows, left.meaning)])


def _finding(table: str, finding: Finding) -> pb.JobFinding:
    return pb.JobFinding(
        table=table,
        row_id=finding.id,
        row_name=finding.name,
        notes=finding.notes,
        refusal=finding.error.message if finding.HasField("error") else "",
    )
