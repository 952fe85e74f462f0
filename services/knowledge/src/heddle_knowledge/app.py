"""Puts the knowledge service together."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from heddle.knowledge.v1 import files_pb2_grpc, knowledge_pb2_grpc
from heddle.person.v1 import person_pb2_grpc
from heddle_runtime.http.egress import Egress
from heddle_runtime.http.guarded_http import new_client
from heddle_runtime.identity.grants import GrantVerifier
from heddle_runtime.identity.people import PersonServicer
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.client import service_channel
from heddle_runtime.rpc.organization_settings import (
    ACCOUNTS,
    Channel,
    OrganizationSettings,
    account_stub,
)
from heddle_runtime.serving.background import HOUR, repeating
from heddle_runtime.serving.readiness import folder_check
from heddle_runtime.serving.server import Binding, bind
from heddle_runtime.storage.object_store import object_store_check
from heddle_runtime.storage.private_files import private_folder

from heddle_knowledge.audit.events import WaitingEvents
from heddle_knowledge.audit.recording import AUDIT, AuditOutbox, audit_stub
from heddle_knowledge.collection.shared_registry import SharedRegistry, Shares, none_shared
from heddle_knowledge.document_queries.query_workers import QueryWorkers
from heddle_knowledge.external.collections import ExternalCollections
from heddle_knowledge.provider_factory import get_vectordb, get_vlm
from heddle_knowledge.service.calls import Backends
from heddle_knowledge.service.extensions import OpenSource, ServiceParts, installed
from heddle_knowledge.service.failures import TranslatedFailures
from heddle_knowledge.service.lazy_store import LazyStore
from heddle_knowledge.service.servicer import KnowledgeServicer
from heddle_knowledge.settings import NOWHERE, KnowledgeSettings
from heddle_knowledge.uploads.deletions import FileDeletions
from heddle_knowledge.uploads.file_ingestion import Sources
from heddle_knowledge.uploads.ingestion_queue import IngestionQueue
from heddle_knowledge.uploads.old_uploads import ASSISTANTS, OldUploads
from heddle_knowledge.uploads.personal_data import KnowledgeData
from heddle_knowledge.uploads.servicer import FileServicer
from heddle_knowledge.uploads.stores import open_file_stores
from heddle_knowledge.web.fetching import WebDocuments
from heddle_knowledge.web.transcripts import Transcripts


@asynccontextmanager
async def app(
    settings: KnowledgeSettings,
    accounts: Channel | None = None,
    extensions: Sequence[OpenSource] = (),
) -> AsyncGenerator[Sequence[Binding]]:
    """Yield what the knowledge service serves.

    Args:
        settings: The settings of the service.
        accounts: A channel to the assistants service, if it runs in this process. Otherwise the
            settings name its address.
        extensions: Sources of further collections; by default those that are installed.
    """
    secret = settings.identity_secret.get_secret_value()
    seconds = settings.search_timeout_seconds
    new_http = partial(new_client, seconds, proxies=settings.proxies)
    private_folder(settings.data_dir)
    objects = settings.object_store()
    async with AsyncExitStack() as resources:
        http = await resources.enter_async_context(new_http())
        egress = Egress(settings.private_networks)
        guarded_http = await resources.enter_async_context(new_http(egress))
        web = WebDocuments(
            await resources.enter_async_context(new_http(Egress(settings.web_networks)))
        )
        store = await resources.enter_async_context(LazyStore(settings, http, objects))
        stores = await resources.enter_async_context(
            open_file_stores(str(get_vectordb(settings).place), settings.data_dir, objects)
        )
        queue = await resources.enter_async_context(
            IngestionQueue(
                stores,
                store.get,
                Sources(web, Transcripts(web, settings.youtube_url)),
            )
        )
        if accounts is None and settings.assistants_address != NOWHERE:
            accounts = await resources.enter_async_context(
                service_channel(settings, settings.assistants_address, ACCOUNTS, ASSISTANTS, AUDIT)
            )
        credentials = ServiceCredentials("heddle-knowledge")
        outbox = AuditOutbox(WaitingEvents(stores.database), audit_stub(accounts))
        audit = await resources.enter_async_context(outbox.sending(credentials))
        deletions = FileDeletions(store.get, queue)
        failure = "deletions not completed, will be retried"
        await resources.enter_async_context(
            repeating(deletions.complete, settings.cleanup_seconds, failure)
        )
        old_uploads = OldUploads(deletions, audit, accounts, credentials)
        failure = "old uploads not deleted, will be retried"
        await resources.enter_async_context(repeating(old_uploads.delete, HOUR, failure))
        queries = QueryWorkers()
        resources.push_async_callback(queries.aclose)
        parts = ServiceParts(http, guarded_http)
        shares: Shares = none_shared
        if accounts is not None:
            organizations = OrganizationSettings(account_stub(accounts), credentials)
            registry = SharedRegistry(accounts, credentials)
            parts = ServiceParts(http, guarded_http, organizations, registry)
            shares = registry.shared
        opened = [open_source(parts) for open_source in extensions or installed()]
        backends = Backends(
            sources={source.backend: source for source in opened},
            external=ExternalCollections(
                http, guarded_http, egress, store.embedders, parts.organizations, seconds
            ),
            queries=queries,
            audit=audit,
            grants=GrantVerifier(secret),
            interpreter=get_vlm(settings, http),
            embedders=store.embedders,
            reranking_model=settings.reranker_model
            if settings.remote(settings.reranker_url)
            else "",
            forget_files=queue.forget_all,
            search_seconds=seconds,
            shares=shares,
            settings=parts.organizations,
        )
        yield [
            bind(
                knowledge_pb2_grpc.add_KnowledgeServiceServicer_to_server,
                TranslatedFailures(KnowledgeServicer(store.get, backends)),
                {"disk": folder_check(settings.data_dir), "store": store.check},
            ),
            bind(
                files_pb2_grpc.add_FileServiceServicer_to_server,
                TranslatedFailures(FileServicer(store.get, queue, audit, backends.grants, shares)),
                {"objects": object_store_check(objects)} if objects else None,
            ),
            bind(
                person_pb2_grpc.add_PersonServiceServicer_to_server,
                PersonServicer(KnowledgeData(store.get, queue, audit)),
            ),
        ]
