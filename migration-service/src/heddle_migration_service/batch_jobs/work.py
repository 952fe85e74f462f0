"""The work of a job, for callers who wait and for the service that claims jobs."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from functools import partial

from heddle.assistant.v1 import jobs_pb2
from heddle.migration.v1 import migration_pb2 as pb
from heddle_runtime.errors import NotSetUpError

from heddle_migration_service.batch_jobs.job import BatchJob
from heddle_migration_service.knowledge.copying import KnowledgeCopy
from heddle_migration_service.lamb import LambImport
from heddle_migration_service.row_batches import RowBatches


@dataclass(frozen=True, slots=True)
class Work:
    """Imports, migrates and restores."""

    batches: RowBatches
    importer: LambImport | None
    """None if no LAMB database is set up."""
    knowledge: KnowledgeCopy

    def run(self, request: pb.RunMigrationRequest) -> AsyncGenerator[pb.RunMigrationResponse]:
        """Do what a request says, and return the progress.

        Raises:
            NotSetUpError: There is no LAMB database to import.
        """
        if request.kind == jobs_pb2.JOB_KIND_IMPORT:
            copy = None
            if request.HasField("knowledge"):
                copy = partial(self.knowledge.run, request.knowledge)
            return required(self.importer).run(dry_run=request.dry_run, copy=copy)
        job = BatchJob(
            self.batches,
            dry_run=request.dry_run,
            restore=request.kind == jobs_pb2.JOB_KIND_ROLLBACK,
            discard_edits=request.discard_edits,
        )
        return job.run_some(request.ids) if request.ids else job.run_all()


def required(importer: LambImport | None) -> LambImport:
    """Return the importer.

    Raises:
        NotSetUpError: No LAMB database is set up.
    """
    if importer is None:
        raise NotSetUpError(
            "No LAMB database is set up. Set HEDDLE_MIGRATION_LAMB_DATABASE to its path."
        )
    return importer
