"""Imports of collections between real services, and what they leave."""

from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from assistants.both_services import both_services
from assistants.serving import SECRET
from heddle.account.v1 import account_pb2
from heddle.assistant.v1 import assistant_pb2
from heddle.assistant.v1.jobs_pb2 import JOB_KIND_IMPORT
from heddle.knowledge.v1 import files_pb2, files_pb2_grpc, knowledge_pb2, knowledge_pb2_grpc
from heddle.migration.v1 import migration_pb2 as pb
from heddle.migration.v1 import migration_pb2_grpc
from heddle_assistants.app import AssistantsSettings
from heddle_knowledge.collection.shared_registry import SharedRegistry, none_shared
from heddle_knowledge.store import KnowledgeStore, open_store
from heddle_runtime.contract.struct_codec import from_struct
from heddle_runtime.identity.call_metadata import Caller, calling_as, new_call_options
from heddle_runtime.identity.callers import ADMIN, Identity
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.client import channel
from heddle_runtime.serving.server import running
from heddle_runtime.settings.service import ServiceSettings
from knowledge.opening import knowledge_and_files
from knowledge.shared_parser import shared_parser
from migration.knowledge.lamb_kb_server import LambKbServer
from migration.lamb.lamb_database import Lamb
from migration.lamb.running import Report
from new_databases import database_in
from pydantic import SecretStr

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

ROOT = Identity("root", "", (ADMIN,))
ANA = Identity("ana@example.org", "lamb", ("creator",))
BO = Identity("bo@example.org", "physics", ("creator",))
CY = Identity("cy@example.org", "physics", ("creator",))
PDF = b"%PDF-1.4 this is no PDF"
QUIET = {"listen": "127.0.0.1:0", "drain_wait": 0, "HEDDLE_IDENTITY_SECRET": SECRET}
OF_ASSISTANTS = (
    assistant_pb2.DESCRIPTOR.services_by_name["AssistantService"],
    account_pb2.DESCRIPTOR.services_by_name["AccountService"],
    pb.DESCRIPTOR.services_by_name["MigrationService"],
)
OF_KNOWLEDGE = (
    knowledge_pb2.DESCRIPTOR.services_by_name["KnowledgeService"],
    files_pb2.DESCRIPTOR.services_by_name["FileService"],
)


def shelved(kb: LambKbServer) -> LambKbServer:
    """Fill a server with collections of Ana, of Bo, and of users who left."""
    kb.add(17, "optics", "3").add_file(17, "lenses.md", b"# Lenses\n\nA lens bends light.")
    kb.add_file(17, "prism.txt", b"A prism splits light.", plugin_name="markitdown_ingest")
    kb.add_file(17, "slides.pptx", b"PK no slides", "Slides about mirrors.")
    kb.add_file(17, "https://light.example/speed", None, "Light is fast.", plugin_name="url_ingest")
    kb.add_file(17, "broken.pdf", PDF, status="failed", error_message="no")
    kb.add(2, "looms", "1").add_file(2, "looms.md", b"# Looms\n\nA shed opens.")
    return kb.add(9, "lost", "999").add_file(9, "lost.md", b"Nobody reads this.")


def registered(lamb: Lamb) -> Lamb:
    """Register Ana's collection beside Bo's, which `filled` registers as shared with no user."""
    return lamb.add("kb_registry", {"id": 3, "kb_id": "2", "kb_name": "Looms", "owner_user_id": 1})


@dataclass
class Import:
    """Running services."""

    migration: grpc.aio.Channel
    knowledge: grpc.aio.Channel
    store: KnowledgeStore
    embedder: HashingEmbedder
    address: str = ""
    """Of the migration service."""

    async def run(self, stop_after: int | None = None, **members: Any) -> Report:
        """Import, and return the report.

        Args:
            stop_after: After how many responses about collections and files to end the call.
            members: Of the request.
        """
        stub = migration_pb2_grpc.MigrationServiceStub(self.migration)
        request = pb.RunMigrationRequest(
            **{"kind": JOB_KIND_IMPORT, "knowledge": pb.KnowledgeImport(), **members}
        )
        report = Report()
        with calling_as(Caller("", ROOT)):
            call = stub.RunMigration(request, **new_call_options(120.0))
            number = 0
            async for response in call:
                report.add(response)
                number += response.table.startswith("kb_") and response.table != "kb_registry"
                if number == stop_after:
                    call.cancel()
                    break
        return report

    async def ask(self, person: Identity, method: str, request: Any) -> Any:
        """Call a method of the knowledge or the file service as a person."""
        stubs = (
            knowledge_pb2_grpc.KnowledgeServiceStub(self.knowledge),
            files_pb2_grpc.FileServiceStub(self.knowledge),
        )
        [call] = [getattr(each, method) for each in stubs if hasattr(each, method)]
        with calling_as(Caller("", person)):
            return await call(request, **new_call_options(30.0))

    async def search(self, person: Identity, collection: str, query: str) -> list[str] | int:
        """Return the texts that a person's search yields, or the code of its error."""
        request = knowledge_pb2.SearchCollectionsRequest(collections=[collection], query=query)
        [result] = (await self.ask(person, "SearchCollections", request)).results
        return result.error.code or [each.text for each in result.passages]

    async def state(self) -> list[Any]:
        """Return all that an import leaves, without identifiers that Heddle chooses."""
        collections = []
        for each in (await self.store.collections.all()).values():
            reference = f"vs_{each.id}"
            files = await self.ask(
                ROOT, "ListAttachedFiles", files_pb2.ListAttachedFilesRequest(collection=reference)
            )
            attached = sorted(
                (sorted(from_struct(it.attributes).items()), it.filename, it.document, it.status)
                for it in files.files
            )
            documents = sorted(
                (it.name, it.sha256, it.size, it.chunks)
                for it in await self.store.documents.all(each.id)
            )
            whose = (each.former_id, each.organization, each.owner)
            what = (each.title, each.name, sorted(each.metadata.items()))
            collections.append((*whose, *what, attached, documents))
        uploads = [
            sorted(it.filename for it in (await self.ask(person, "ListFiles", all_files())).files)
            for person in (ANA, BO)
        ]
        return [sorted(collections), uploads]


def all_files() -> files_pb2.ListFilesRequest:
    return files_pb2.ListFilesRequest(page_size=1_000)


@dataclass
class LateRegistry:
    """LAMB's registry, at an account service that starts after the knowledge service."""

    registry: SharedRegistry | None = None

    async def shared(self, organization: str, collections: Collection[str]) -> bool:
        assert self.registry is not None
        return await self.registry.shared(organization, collections)


@asynccontextmanager
async def knowledge_service(
    folder: Path, registry: LateRegistry | None = None
) -> AsyncGenerator[tuple[str, KnowledgeStore, Any]]:
    """Run the knowledge service; yield its address, its store and its embedder."""
    shares = registry.shared if registry else none_shared
    embedder = HashingEmbedder()
    async with (
        open_store(folder / "store", embedder, parser=shared_parser()) as store,
        running(
            knowledge_and_files(store, folder, shares=shares),
            ServiceSettings.model_validate(QUIET),
        ) as service,
    ):
        yield service.address, store, embedder


@asynccontextmanager
async def importing(
    folder: Path, lamb: Lamb, kb_url: str, token: str = "", **more: Any
) -> AsyncGenerator[Import]:
    """Run all services beside a LAMB."""
    settings = AssistantsSettings.model_validate(
        {
            **QUIET,
            "database": database_in(folder),
            "assistants_dir": folder / "none",
            "key_pepper": "p" * 32,
            "encryption_key": "e" * 32,
        }
    )
    secret = SecretStr(SECRET)
    registry = LateRegistry()
    async with (
        knowledge_service(folder, registry) as (address, store, embedder),
        channel(address, *OF_KNOWLEDGE, secret=secret) as knowledge,
        running(
            both_services(
                settings,
                lamb.path,
                knowledge=knowledge,
                lamb_kb_url=kb_url,
                lamb_kb_token=token,
                **more,
            ),
            settings,
        ) as service,
        channel(service.address, *OF_ASSISTANTS, secret=secret) as migration,
    ):
        credentials = ServiceCredentials("knowledge")
        registry.registry = SharedRegistry(migration, credentials)
        yield Import(migration, knowledge, store, embedder, service.address)
