"""Puts the knowledge service together."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from heddle.knowledge.v1 import files_pb2_grpc, knowledge_pb2_grpc
from heddle.person.v1 import person_pb2_grpc
from heddle_runtime.background import HOUR, repeating
from heddle_runtime.client import channel
from heddle_runtime.egress import Egress
from heddle_runtime.grants import GrantVerifier
from heddle_runtime.guarded_http import new_client
from heddle_runtime.object_store import object_store_check
from heddle_runtime.organization_settings import (
    ACCOUNTS,
    Channel,
    OrganizationSettings,
    account_stub,
)
from heddle_runtime.people import PersonServicer
from heddle_runtime.private_files import private_folder
from heddle_runtime.readiness import folder_check
from heddle_runtime.server import Binding, bind
from heddle_runtime.service_credentials import ServiceCredentials

from heddle_knowledge.audit import AUDIT, AuditOutbox, audit_stub
from heddle_knowledge.audit_events import DatabaseEvents, FileEvents
from heddle_knowledge.document_queries.query_workers import QueryWorkers
from heddle_knowledge.embedders import tracing
from heddle_knowledge.lamb.client import KNOWLEDGE_STORES, KnowledgeServer
from heddle_knowledge.lamb.knowledge_stores import TOKEN_SETTING, KnowledgeStores
from heddle_knowledge.lamb.registry import RegisteredCollections, SharesOfLamb
from heddle_knowledge.lamb.servers import KnowledgeServers, OwnerServers
from heddle_knowledge.lazy_store import LazyStore
from heddle_knowledge.measuring import traced_embedding
from heddle_knowledge.people import KnowledgeData
from heddle_knowledge.provider_factory import (
    get_embeddings,
    get_reranker,
    get_vectordb,
    get_visual_search,
    get_vlm,
)
from heddle_knowledge.reading.parsing import ParserLimits
from heddle_knowledge.service.calls import Backends, none_shared
from heddle_knowledge.service.failures import TranslatedFailures
from heddle_knowledge.service.servicer import KnowledgeServicer
from heddle_knowledge.settings import NOWHERE, KnowledgeSettings
from heddle_knowledge.uploads.ingestion_queue import IngestionQueue, QueueLimits
from heddle_knowledge.uploads.old_uploads import ASSISTANTS, OldUploads
from heddle_knowledge.uploads.opening import open_file_stores
from heddle_knowledge.uploads.servicer import FileServicer
from heddle_knowledge.uploads.sources import Sources
from heddle_knowledge.web.fetching import WebDocuments
from heddle_knowledge.web.transcripts import Transcripts


@asynccontextmanager
async def app(
    settings: KnowledgeSettings, accounts: Channel | None = None
) -> AsyncGenerator[Sequence[Binding]]:
    """Yield what the knowledge service serves.

    Args:
        settings: How to serve it.
        accounts: A channel to the assistants service, if it runs in this process. Otherwise the
            settings name its address.
    """
    secret = settings.identity_secret.get_secret_value() if settings.identity_secret else None
    seconds = settings.search_timeout_seconds
    tracing.traced = traced_embedding
    private_folder(settings.data_dir)
    objects = settings.object_store()
    async with AsyncExitStack() as resources:
        http = await resources.enter_async_context(new_client(seconds))
        guarded_http = await resources.enter_async_context(
            new_client(seconds, Egress(settings.private_networks))
        )
        web = WebDocuments(
            await resources.enter_async_context(new_client(seconds, Egress(settings.web_networks)))
        )
        store = await resources.enter_async_context(
            LazyStore(
                get_vectordb(settings),
                lambda: get_embeddings(settings, http),
                lambda reader: get_visual_search(settings, http, reader),
                lambda: get_reranker(settings, http),
                settings.data_dir,
                ParserLimits(
                    settings.parser_processes,
                    settings.parser_seconds,
                    settings.parser_memory_mib * 1024**2,
                ),
                objects,
            )
        )
        stores = await resources.enter_async_context(
            open_file_stores(
                str(get_vectordb(settings).place), settings.data_dir / "uploads", objects
            )
        )
        queue = await resources.enter_async_context(
            IngestionQueue(
                stores,
                store.get,
                Sources(web, Transcripts(web, settings.youtube_url)),
                QueueLimits(settings.max_queued_files, settings.max_queued_files_per_organization),
            )
        )
        if accounts is None and settings.assistants_address != NOWHERE:
            accounts = await resources.enter_async_context(
                channel(
                    settings.assistants_address,
                    ACCOUNTS,
                    ASSISTANTS,
                    AUDIT,
                    secret=settings.identity_secret,
                    tls=settings.tls,
                )
            )
        credentials = ServiceCredentials("heddle-knowledge")
        waiting = FileEvents(settings.data_dir / "audit.db")
        audit = await resources.enter_async_context(
            AuditOutbox(waiting, audit_stub(accounts)).sending(credentials)
        )
        if stores.database is not None:  # the file may still have events of an earlier version
            outbox = AuditOutbox(DatabaseEvents(stores.database), audit_stub(accounts))
            audit = await resources.enter_async_context(outbox.sending(credentials))
        old_uploads = OldUploads(stores, audit, accounts, credentials)
        failure = "old uploads not deleted, will be retried"
        await resources.enter_async_context(repeating(old_uploads.delete, HOUR, failure))
        queries = QueryWorkers()
        resources.push_async_callback(queries.aclose)
        operators = _operators_server(settings)
        shares: SharesOfLamb = none_shared
        settings_of_organizations: OrganizationSettings | None = None
        if accounts is None:
            servers = KnowledgeServers(OwnerServers(None, operators), http, guarded_http)
        else:
            settings_of_organizations = OrganizationSettings(account_stub(accounts), credentials)
            registry = RegisteredCollections(
                accounts, credentials, operators.url if operators else ""
            )
            servers = KnowledgeServers(
                OwnerServers(settings_of_organizations, operators, shared=settings.kb_shared),
                http,
                guarded_http,
                registry,
                KnowledgeStores(
                    registry.stores, settings_of_organizations, _operators_store_server(settings)
                ),
            )
            shares = registry.shared
        backends = Backends(
            servers=servers,
            queries=queries,
            audit=audit,
            grants=GrantVerifier(secret),
            interpreter=get_vlm(settings, http),
            embedders=store.embedders,
            forget_files=queue.forget_all,
            search_seconds=seconds,
            shares=shares,
            settings=settings_of_organizations,
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
                PersonServicer(KnowledgeData(store.get, queue, audit, settings.data_dir)),
            ),
        ]


def _operators_server(settings: KnowledgeSettings) -> KnowledgeServer | None:
    if not settings.kb_url:
        return None
    return KnowledgeServer(settings.kb_url, settings.kb_token.get_secret_value())


def _operators_store_server(settings: KnowledgeSettings) -> KnowledgeServer | None:
    if not settings.lamb_stores_url:
        return None
    return KnowledgeServer(
        settings.lamb_stores_url,
        settings.lamb_stores_token.get_secret_value(),
        name=KNOWLEDGE_STORES,
        token_setting=TOKEN_SETTING,
    )
