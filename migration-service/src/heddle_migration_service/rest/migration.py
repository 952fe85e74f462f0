"""`/migration`: the way from LAMB, as jobs, and what it makes of one assistant."""

import json
from typing import Annotated, Any, Literal

from heddle.assistant.v1 import jobs_pb2 as pb
from heddle.migration.v1 import migration_pb2
from heddle_conversion.assistant_json import write_assistant
from heddle_gateway.http.error_responses import invalid
from heddle_gateway.http.models import ListQuery, Model, Seconds, StrictModel, Text, identifier
from heddle_gateway.routing import ETAG, LOCATION, Call, Routes
from heddle_gateway.services import call, items
from heddle_runtime.contract.enums import enum_names
from heddle_runtime.errors import HeddleError
from pydantic import Field
from starlette.responses import Response

from heddle_migration_service.rest.migration_files import JobReport, csv_of, report_of

_KINDS = enum_names(pb.JobKind.DESCRIPTOR)
_STATES = enum_names(pb.JobState.DESCRIPTOR)
_MAX_TEXT = 1_000_000
JobId = Annotated[str, identifier("The identifier of a job.", "1", pattern="^[0-9]+$")]
Kind = Literal["import", "sweep", "rollback"]
routes = Routes("migration")


class JobBody(StrictModel):
    """A job to be started."""

    kind: Kind = Field(
        description="`import` copies a LAMB database, `sweep` brings assistants to the newest "
        "format, `rollback` restores their originals."
    )
    dry_run: bool = Field(default=False, description="Only count and report, write nothing.")
    discard_edits: bool = Field(
        default=False,
        description="A rollback also restores assistants that were edited since their migration, "
        "which loses the edits.",
    )


class JobTable(Model):
    """The progress of a job in one table."""

    name: str
    total: int
    changed: int = Field(description="Rows that were changed, or would be.")
    unchanged: int
    refused: int = Field(description="Rows that could not be changed. Each has a finding.")


class Job(Model):
    """A job."""

    id: str
    kind: Kind
    dry_run: bool
    discard_edits: bool
    state: Literal["queued", "running", "stopping", "stopped", "done", "failed"]
    author: str
    created: Seconds
    ended: Seconds | None = Field(description="Null while it is not finished.")
    interruptions: int = Field(
        description="How often a service stopped in the middle, or the job was continued."
    )
    tables: list[JobTable] = Field(description="In the order of the work.")
    finding_count: int
    error: str = Field(description="Why it failed, else empty.")


class JobPage(Model):
    """A page of jobs, the newest first."""

    jobs: list[Job]
    next_page_token: str = Field(description="Empty on the last page.")


class Finding(Model):
    """What a job reports about one row."""

    number: int
    table: str
    row_id: str
    row_name: str
    notes: list[str]
    refusal: str = Field(description="Why the row was refused; empty if it was not.")


class FindingPage(Model):
    """A page of findings, in the order of the work."""

    findings: list[Finding]
    next_page_token: str = Field(description="Empty on the last page.")


class FindingQuery(ListQuery):
    """The query of the findings of a job."""

    text: Text = Field(
        default="", description="Only those that contain this text, in any case of letters."
    )
    table: Text = Field(default="", description="Only those of this table.")
    refused: bool | None = Field(
        default=None, description="Only refused rows if true, only others if false."
    )
    format: Literal["json", "csv"] = Field(
        default="json", description="`csv`: all pages as a file with a line for each finding."
    )


class ReportQuery(Model):
    """The query of the report of a job."""

    format: Literal["json", "markdown"] = Field(
        default="json", description="`markdown`: a page for people."
    )


class ConversionBody(StrictModel):
    """A stored assistant, or columns of LAMB."""

    id: Text | None = Field(default=None, description="The identifier of a stored assistant.")
    metadata: Text | None = Field(
        default=None,
        max_length=_MAX_TEXT,
        description="The text of `api_callback`, without `id`.",
    )
    rag_top_k: Text | None = Field(default=None, description="The column `RAG_Top_k`.")
    rag_collections: Text | None = Field(default=None, description="The column `RAG_collections`.")


class Conversion(Model):
    """An assistant before and after the migration. Nothing is stored."""

    from_version: int
    to_version: int
    before: Any = Field(description="The metadata: its JSON, or its text if it is none.")
    after: dict[str, Any] = Field(description="The metadata in the newest format.")
    assistant: dict[str, Any] = Field(description="The assistant that it describes.")
    notes: list[str] = Field(description="What an operator should look at.")


@routes.get("/migration/jobs", errors=(400, 403))
async def list_jobs(api: Call, query: ListQuery) -> JobPage:
    """List the jobs of the migration, the newest first. Only for operators."""
    page = await call(api.services.jobs.ListJobs, pb.ListJobsRequest(**query.model_dump()))
    return JobPage(jobs=[_job(each) for each in page.jobs], next_page_token=page.next_page_token)


@routes.post("/migration/jobs", status=201, errors=(403, 409), headers={**ETAG, **LOCATION})
async def start(api: Call, body: JobBody) -> Job:
    """Start a job in the background. One at a time can run. Only for operators.

    It goes on when the client leaves and when services restart.
    """
    request = pb.StartJobRequest(
        kind=pb.JobKind.Value(f"JOB_KIND_{body.kind.upper()}"),
        dry_run=body.dry_run,
        discard_edits=body.discard_edits,
    )
    job = (await call(api.services.jobs.StartJob, request)).job
    api.headers["location"] = f"/migration/jobs/{job.id}"
    await _wake(api)
    return _shown(api, job)


@routes.get(
    "/migration/jobs/{id}", errors=(400, 403, 404), headers=ETAG, responses={304: None}, returns=Job
)
async def get(api: Call, id_: JobId) -> Job | Response:
    """Get a job with its progress. With `If-None-Match` the status is 304 while nothing changes."""
    job = (await call(api.services.jobs.GetJob, pb.GetJobRequest(id=id_))).job
    if api.knows(job.etag):
        api.set_etag(job.etag)
        return Response(status_code=304)
    return _shown(api, job)


@routes.get(
    "/migration/jobs/{id}/findings",
    errors=(400, 403, 404),
    content=("text/csv",),
    returns=FindingPage,
)
async def list_findings(api: Call, id_: JobId, query: FindingQuery) -> FindingPage | Response:
    """List the findings of a job. Only for operators."""
    request = pb.ListJobFindingsRequest(
        id=id_, text=query.text, table=query.table, refused=query.refused
    )
    if query.format == "csv":
        findings = await items(api.services.jobs.ListJobFindings, request, "findings")
        api.save_as(f"findings_{id_}.csv")
        return Response(csv_of(findings), media_type="text/csv")
    request.page_size, request.page_token = query.page_size, query.page_token
    page = await call(api.services.jobs.ListJobFindings, request)
    return FindingPage(
        findings=[Finding.of(each, notes=list(each.notes)) for each in page.findings],
        next_page_token=page.next_page_token,
    )


@routes.get(
    "/migration/jobs/{id}/report",
    errors=(400, 403, 404),
    content=("text/markdown",),
    returns=JobReport,
)
async def report(api: Call, id_: JobId, query: ReportQuery) -> JobReport | Response:
    """Get the report of a job: what will not work, and what stays in LAMB. Only for operators."""
    job = (await call(api.services.jobs.GetJob, pb.GetJobRequest(id=id_))).job
    request = pb.ListJobFindingsRequest(id=id_)
    findings = await items(api.services.jobs.ListJobFindings, request, "findings")
    job_report = report_of(job, findings)
    if query.format == "markdown":
        api.save_as(f"report_{id_}.md")
        return Response(job_report.markdown(), media_type="text/markdown")
    return JobReport.model_validate(job_report.json())


@routes.delete("/migration/jobs/{id}", errors=(400, 403, 404), headers=ETAG)
async def stop(api: Call, id_: JobId) -> Job:
    """Stop a job after the rows that it is writing. What it changed stays. Only for operators."""
    return _shown(api, (await call(api.services.jobs.StopJob, pb.StopJobRequest(id=id_))).job)


@routes.post("/migration/jobs/{id}/continue", errors=(400, 403, 404, 409), headers=ETAG)
async def resume(api: Call, id_: JobId) -> Job:
    """Continue a job that was stopped or has failed. Only for operators."""
    job = (await call(api.services.jobs.ContinueJob, pb.ContinueJobRequest(id=id_))).job
    await _wake(api)
    return _shown(api, job)


@routes.post("/migration/convert", errors=(403, 404, 422))
async def convert(api: Call, body: ConversionBody) -> Conversion:
    """Return what the migration makes of one assistant. Only for operators."""
    if (body.id is None) == (body.metadata is None):
        raise invalid("id", "or metadata is required, and not both")
    request = migration_pb2.ConvertAssistantRequest(id=body.id or "")
    if body.id is None:
        columns = migration_pb2.Columns(
            metadata_json=body.metadata,
            rag_top_k=body.rag_top_k,
            rag_collections=body.rag_collections,
        )
        request = migration_pb2.ConvertAssistantRequest(columns=columns)
    response = await call(api.services.migration.ConvertAssistant, request)
    before = response.from_metadata_json if response.HasField("from_metadata_json") else None
    return Conversion(
        from_version=response.from_version,
        to_version=response.to_version,
        before=_parsed(before),
        after=json.loads(response.metadata_json),
        assistant=write_assistant(response.assistant),
        notes=list(response.notes),
    )


async def _wake(api: Call) -> None:
    """Make a migration service look for the job now. Without one, the job waits for the next."""
    try:
        await call(api.services.migration.RunJobs, migration_pb2.RunJobsRequest())
    except HeddleError:
        return


def _shown(api: Call, job: pb.Job) -> Job:
    api.set_etag(job.etag)
    return _job(job)


def _job(job: pb.Job) -> Job:
    return Job.of(
        job,
        kind=_KINDS[job.kind],
        state=_STATES[job.state],
        created=job.create_time.seconds,
        ended=job.end_time.seconds or None,
        tables=[JobTable.of(each) for each in job.tables],
    )


def _parsed(text: str | None) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        return text
