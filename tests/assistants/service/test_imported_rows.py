"""Imported rows that the tables cannot hold, and jobs of an unknown kind."""

from typing import Any

import pytest
from assistants.serving import ADMIN, Caller, Service
from heddle.assistant.v1 import jobs_pb2, jobs_pb2_grpc
from heddle.assistant.v1 import rows_pb2 as pb
from heddle.assistant.v1.rows_pb2_grpc import RowBatchServiceStub
from heddle_runtime.errors import InvalidRequestError, Violation, from_status

UNI = {"id": 1, "slug": "uni", "name": "University"}
USER = {"id": 7, "organization": "uni", "email": "ann@uni.example", "role": "creator"}
ASSISTANT = {"id": "7", "organization": "uni", "name": "tutor", "owner": "ann@uni.example"}


async def imported(admin: Caller, *, dry_run: bool = False, **rows: Any) -> list[pb.ImportedRow]:
    stub = RowBatchServiceStub(admin.connection)
    request = pb.ImportRowsRequest(rows=pb.RowBatch(**rows), dry_run=dry_run)
    return list((await admin.ask(stub.ImportRows, request)).rows)


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    ("kind", "whole", "part", "message"),
    [
        ("users", USER, {"role": "janitor"}, "must be member, creator, admin"),
        (
            "assistants",
            ASSISTANT,
            {"owner": None},
            "has no owner. Set it in the source.",
        ),
        ("assistants", ASSISTANT, {"name": None, "owner": None}, "no name and no owner"),
    ],
)
async def test_a_row_that_cannot_be_stored_is_refused_and_the_others_are_imported(
    service: Service,
    kind: str,
    whole: dict[str, Any],
    part: dict[str, Any],
    message: str,
    *,
    dry_run: bool,
) -> None:
    admin = service.as_(ADMIN)
    await imported(admin, organizations=[UNI])
    wrong = {name: value for name, value in (whole | part).items() if value is not None}
    right = whole | {"id": type(whole["id"])(8)}
    if kind == "users":
        right["email"] = "ben@uni.example"
    refused, inserted = await imported(admin, dry_run=dry_run, **{kind: [wrong, right]})
    assert refused.outcome == pb.IMPORT_OUTCOME_REFUSED
    assert message in from_status(refused.error).message
    assert inserted.outcome == pb.IMPORT_OUTCOME_INSERTED


async def test_an_organisation_without_a_number_gets_one_and_no_note(service: Service) -> None:
    unnumbered = {name: value for name, value in UNI.items() if name != "id"}
    (row,) = await imported(service.as_(ADMIN), organizations=[unnumbered])
    assert (row.outcome, list(row.notes)) == (pb.IMPORT_OUTCOME_INSERTED, [])


async def test_a_job_of_an_unknown_kind_is_refused(service: Service) -> None:
    admin = service.as_(ADMIN)
    stub = jobs_pb2_grpc.JobServiceStub(admin.connection)
    unknown: Any = 999
    with pytest.raises(InvalidRequestError) as caught:
        await admin.ask(stub.StartJob, jobs_pb2.StartJobRequest(kind=unknown))
    assert caught.value.violations == (Violation("kind", "must be import, sweep, rollback"),)
