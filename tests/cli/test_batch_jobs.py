"""How the command follows a batch job, against a channel that the test answers."""

import io
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Semaphore
from typing import Any

import grpc
import grpc_testing
import pytest
from google.rpc import code_pb2, status_pb2
from heddle.assistant.v1.jobs_pb2 import JOB_KIND_SWEEP
from heddle.migration.v1 import migration_pb2 as pb
from heddle.migration.v1.migration_pb2_grpc import MigrationServiceStub
from heddle_cli.connections import Connection
from heddle_migration_service.commands.batch_jobs import follow_job
from heddle_migration_service.commands.reports import JsonLines, Report, Sentences
from heddle_runtime.errors import (
    ConflictError,
    HeddleError,
    MalformedAssistantError,
    UnavailableError,
    to_status,
)
from rich.console import Console

SERVICE = pb.DESCRIPTOR.services_by_name["MigrationService"]
METHOD = SERVICE.methods_by_name["RunMigration"]
MALFORMED = MalformedAssistantError("The assistant's metadata is not JSON.")


def response(
    changed: int = 0, unchanged: int = 0, refused: int = 0, *findings: pb.Finding
) -> pb.RunMigrationResponse:
    progress = pb.Progress(total=5, changed=changed, unchanged=unchanged, refused=refused)
    return pb.RunMigrationResponse(table="assistants", progress=progress, findings=findings)


class Watched:
    """A call that tells when a response is read."""

    def __init__(self, call: Any, seen: Semaphore) -> None:
        self._call = call
        self._seen = seen
        self.cancel = call.cancel

    def __iter__(self) -> Iterator[pb.RunMigrationResponse]:
        for each in self._call:
            self._seen.release()
            yield each


def follow(
    responses: Sequence[pb.RunMigrationResponse],
    code: grpc.StatusCode = grpc.StatusCode.OK,
    report: Report | None = None,
    *,
    dry_run: bool = False,
    trailing: Sequence[tuple[str, Any]] = (),
) -> bool | BaseException:
    """Follow a batch job over a channel of grpcio-testing: `responses`, then `code`."""
    channel = grpc_testing.channel([SERVICE], grpc_testing.strict_real_time())
    seen = Semaphore(0)

    def run() -> bool:
        call = MigrationServiceStub(channel).RunMigration(
            pb.RunMigrationRequest(kind=JOB_KIND_SWEEP), timeout=60
        )
        connection = Connection(MigrationServiceStub(channel), channel, "there:1")
        told = report or Sentences("migrated")
        return follow_job(connection, Watched(call, seen), told, dry_run=dry_run)

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(run)
        _, _, rpc = channel.take_unary_stream(METHOD)
        rpc.send_initial_metadata(())
        for each in responses:
            rpc.send_response(each)
            assert seen.acquire(timeout=10), "a real channel hands it over before the end"
        rpc.terminate(trailing, code, "")
        return future.exception(10) or future.result()


def test_counts_are_those_of_the_last_response(capsys: pytest.CaptureFixture[str]) -> None:
    assert follow([response(2), response(3, 2)]) is True

    assert capsys.readouterr().out == "assistants: 5 (3 migrated, 2 unchanged, 0 refused)\n"


def test_what_was_refused_is_told_and_counts(capsys: pytest.CaptureFixture[str]) -> None:
    refused = pb.Finding(id="14", name="broken", error=to_status(MALFORMED))
    odd = pb.Finding(id="17", name="odd\x1b[31m", notes=["The tool\n'x' is not known.", "Look."])

    assert follow([response(1, 0, 1, refused), response(4, 0, 1, odd)]) is False

    assert capsys.readouterr().out.splitlines() == [
        "refused  assistants 14  broken: The assistant's metadata is not JSON.",
        "look at  assistants 17  odd[31m: The tool 'x' is not known. Look.",
        "assistants: 5 (4 migrated, 0 unchanged, 1 refused)",
    ]


def test_programs_read_a_line_of_json_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    refused = pb.Finding(id="14", name="ü", error=to_status(ConflictError("It was edited.")))
    odd = pb.Finding(id="17", name="odd", notes=["Look."])

    follow([response(1, 2, 1, refused, odd)], report=JsonLines(dry_run=True))

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        {
            "kind": "finding",
            "table": "assistants",
            "id": "14",
            "name": "ü",
            "notes": [],
            "error": {"reason": "CONFLICT", "message": "It was edited."},
        },
        {
            "kind": "finding",
            "table": "assistants",
            "id": "17",
            "name": "odd",
            "notes": ["Look."],
            "error": None,
        },
        {
            "kind": "counts",
            "table": "assistants",
            "dry_run": True,
            "total": 5,
            "changed": 1,
            "unchanged": 2,
            "refused": 1,
        },
    ]


def test_a_service_that_went_away_leaves_what_was_done_and_a_way_to_go_on() -> None:
    error = follow([response(2), response(3)], grpc.StatusCode.UNAVAILABLE)

    assert isinstance(error, HeddleError)
    assert error.message == (
        "Nothing answers at there:1. Is the service running there? "
        "Done: 3 of 5 assistants. Run it again; it goes on with the rest."
    )


def test_a_dry_run_that_was_cut_promises_nothing() -> None:
    error = follow([response(2)], grpc.StatusCode.UNAVAILABLE, dry_run=True)

    assert isinstance(error, HeddleError)
    assert error.message.endswith("Is the service running there? Nothing was changed.")


def test_a_call_that_was_refused_at_once_is_told_as_it_is() -> None:
    known = UnavailableError("The database is busy.", retry_after=1)
    trailing = [("grpc-status-details-bin", to_status(known).SerializeToString())]

    error = follow([], grpc.StatusCode.UNAVAILABLE, trailing=trailing)

    assert isinstance(error, UnavailableError)
    assert (error.message, error.retry_after) == ("The database is busy.", 1)


def test_an_error_of_a_newer_contract_is_told_by_its_message(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status = status_pb2.Status(code=code_pb2.FAILED_PRECONDITION, message="Not today.")

    assert follow([response(0, 0, 1, pb.Finding(id="1", error=status))]) is False

    assert "refused  assistants 1  : Not today." in capsys.readouterr().out


def test_a_terminal_shows_bars_that_vanish(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80, highlight=False)
    commands = "heddle_migration_service.commands"
    for module in (f"{commands}.batch_jobs", f"{commands}.reports", "heddle_cli.terminal"):
        monkeypatch.setattr(f"{module}.out", console)

    follow([response(2), response(5)])

    assert "assistants" in screen.getvalue()
    assert "5/5" in screen.getvalue()
    assert screen.getvalue().endswith("assistants: 5 (5 migrated, 0 unchanged, 0 refused)\n")
