"""`heddle lamb-servers`."""

import typer
from heddle.assistant.v1 import jobs_pb2
from heddle.migration.v1 import migration_pb2 as pb
from heddle.migration.v1.migration_pb2_grpc import MigrationServiceStub
from heddle_cli.connections import connected
from heddle_cli.terminal import out, plain

from heddle_migration_service.commands.batch_jobs import MAX_SECONDS, follow_job
from heddle_migration_service.commands.reports import Report
from heddle_migration_service.knowledge.moves import COLLECTIONS, LEFT, MOVED, SERVERS


class _Moves(Report):
    """Prints where organisations store collections, and what an import would still copy."""

    def __init__(self) -> None:
        self.to_do = 0

    def finding(self, table: str, finding: pb.Finding) -> None:
        """Print what is about a server, or a collection that only the old server has."""
        note = finding.notes[0] if finding.notes else finding.error.message
        is_refused = table == COLLECTIONS and finding.HasField("error")
        if table == SERVERS or note == LEFT or is_refused:
            self.to_do += note != MOVED
            out.print(plain("  ".join(filter(None, (finding.id, finding.name, note)))))


def lamb_servers() -> None:
    """List LAMB's organisations, and what to change so that their collections are in Heddle.

    After the change, the command names each collection that educators have created on the old
    server since the last import. The exit code is 1 if something is to be done.
    """
    moves = _Moves()
    with connected("migration", MigrationServiceStub) as connection:
        request = pb.RunMigrationRequest(kind=jobs_pb2.JOB_KIND_IMPORT, dry_run=True)
        request.knowledge.SetInParent()
        call = connection.stub.RunMigration(request, timeout=MAX_SECONDS)
        follow_job(connection, call, moves, dry_run=True)
    if moves.to_do:
        raise typer.Exit(1)
