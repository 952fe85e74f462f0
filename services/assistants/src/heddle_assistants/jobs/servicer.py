"""`heddle.assistant.v1.JobService`."""

from heddle.assistant.v1 import jobs_pb2 as pb
from heddle.assistant.v1 import jobs_pb2_grpc as pb_grpc
from heddle_runtime.contract.enums import enum_names
from heddle_runtime.contract.paging import cut, page_size
from heddle_runtime.identity.call_metadata import Context, caller
from heddle_runtime.identity.permissions import require_administrator, require_service
from sqlalchemy import ColumnElement, and_

from heddle_assistants.database.paging import contains, row_before
from heddle_assistants.database.schema import job_findings
from heddle_assistants.field_checks import require
from heddle_assistants.jobs.store import Jobs


class JobServicer(pb_grpc.JobServiceServicer):
    """Translates between the contract and the tables."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    async def StartJob(self, request: pb.StartJobRequest, context: Context) -> pb.StartJobResponse:
        """Start a job."""
        identity = caller().identity
        require_administrator(identity)
        kinds = enum_names(pb.JobKind.DESCRIPTOR)
        require(request.kind in kinds, "kind", f"must be {', '.join(kinds.values())}")
        return pb.StartJobResponse(job=await self._jobs.start(request, identity.subject))

    async def GetJob(self, request: pb.GetJobRequest, context: Context) -> pb.GetJobResponse:
        """Return a job."""
        require_administrator(caller().identity)
        return pb.GetJobResponse(job=await self._jobs.get(request.id))

    async def ListJobs(self, request: pb.ListJobsRequest, context: Context) -> pb.ListJobsResponse:
        """List jobs."""
        require_administrator(caller().identity)
        size = page_size(request.page_size)
        jobs = await self._jobs.listed(row_before(request.page_token), size + 1)
        shown, token = cut(jobs, size, lambda job: job.id)
        return pb.ListJobsResponse(jobs=shown, next_page_token=token)

    async def ListJobFindings(
        self, request: pb.ListJobFindingsRequest, context: Context
    ) -> pb.ListJobFindingsResponse:
        """List findings."""
        require_administrator(caller().identity)
        size = page_size(request.page_size)
        after = row_before(request.page_token)
        findings = await self._jobs.findings(request.id, _condition(request), after, size + 1)
        shown, token = cut(findings, size, lambda each: str(each.number))
        return pb.ListJobFindingsResponse(findings=shown, next_page_token=token)

    async def StopJob(self, request: pb.StopJobRequest, context: Context) -> pb.StopJobResponse:
        """Stop a job."""
        require_administrator(caller().identity)
        return pb.StopJobResponse(job=await self._jobs.stop(request.id))

    async def ContinueJob(
        self, request: pb.ContinueJobRequest, context: Context
    ) -> pb.ContinueJobResponse:
        """Continue a job."""
        require_administrator(caller().identity)
        return pb.ContinueJobResponse(job=await self._jobs.resume(request.id))

    async def ClaimJob(self, request: pb.ClaimJobRequest, context: Context) -> pb.ClaimJobResponse:
        """Claim a job."""
        require_service(caller().identity)
        return pb.ClaimJobResponse(job=await self._jobs.claim(request.claimant))

    async def ReportJob(
        self, request: pb.ReportJobRequest, context: Context
    ) -> pb.ReportJobResponse:
        """Store progress."""
        require_service(caller().identity)
        return pb.ReportJobResponse(stop=await self._jobs.report(request))


def _condition(request: pb.ListJobFindingsRequest) -> ColumnElement[bool]:
    columns = job_findings.c
    condition = contains(
        request.text, columns.row_id, columns.row_name, columns.notes, columns.refusal
    )
    if request.table:
        condition = and_(condition, columns.source == request.table.replace("\0", "\ufffd"))
    if request.HasField("refused"):
        refused = columns.refusal != ""
        condition = and_(condition, refused if request.refused else ~refused)
    return condition
