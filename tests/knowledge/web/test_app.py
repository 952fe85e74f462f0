"""The knowledge service with its settings fetches documents of the web."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from heddle.knowledge.v1 import files_pb2 as pb
from heddle.knowledge.v1 import files_pb2_grpc, knowledge_pb2, knowledge_pb2_grpc
from heddle_knowledge.app import app
from heddle_knowledge.settings import KnowledgeSettings
from heddle_runtime.http.egress import SETTING
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_runtime.serving.server import running
from knowledge.web.site import ALLOWED, VIDEO, running_site
from runtime.examples import sampled


@pytest.mark.parametrize(
    ("networks", "error"),
    sampled(
        [
            ({"web_networks": str(ALLOWED)}, ""),
            ({SETTING: str(ALLOWED)}, "HEDDLE_KNOWLEDGE_WEB_NETWORKS"),
        ],
        1,
    ),
)
async def test_the_networks_of_the_settings_are_those_it_may_reach(
    tmp_path: Path, networks: dict[str, Any], error: str
) -> None:
    async with running_site() as site:
        settings = KnowledgeSettings.model_validate(
            {
                "listen": "127.0.0.1:0",
                "drain_wait": 0,
                "assistants_address": "none",
                "data_dir": tmp_path,
                "youtube_url": site.url,
                **networks,
            }
        )
        async with running(app(settings), settings) as service:
            files = files_pb2_grpc.FileServiceStub(service.local)
            knowledge = knowledge_pb2_grpc.KnowledgeServiceStub(service.local)
            collection = knowledge_pb2.Collection(name="looms")
            await knowledge.CreateCollection(
                knowledge_pb2.CreateCollectionRequest(collection=collection), **new_call_options(60)
            )
            for uri, source in (
                (f"{site.url}/page", pb.FILE_SOURCE_WEB),
                (f"https://youtu.be/{VIDEO}", pb.FILE_SOURCE_TRANSCRIPT),
            ):
                stored = await files.CreateFile(
                    pb.CreateFileRequest(filename="link", purpose="assistants", data=b"x"),
                    **new_call_options(60),
                )
                file: dict[str, Any] = {"collection": "looms", "file_id": stored.file.id}
                request = pb.AttachFileRequest(uri=uri, source=source, **file)
                attached = (await files.AttachFile(request, **new_call_options(60))).file
                async with asyncio.timeout(100):
                    while attached.status == pb.ATTACHMENT_STATUS_IN_PROGRESS:
                        await asyncio.sleep(0.05)
                        again = pb.GetAttachedFileRequest(**file)
                        attached = (await files.GetAttachedFile(again, **new_call_options(60))).file
                assert (error in attached.error) if error else not attached.error, attached.error
                assert bool(error) == (attached.status == pb.ATTACHMENT_STATUS_FAILED)
        assert bool(site.requests) != bool(error)
