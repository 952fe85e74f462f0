"""Two replicas of all services, used by an organisation whose provider's key is encrypted."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx
from chaos.load import PATIENCE
from chaos.replicas import Balancer, Replicas, two_replicas
from heddle.account.v1 import account_pb2 as pb
from heddle.account.v1 import account_pb2_grpc as pb_grpc
from heddle_runtime.http.egress import SETTING
from heddle_runtime.identity.call_metadata import AUTHORIZATION
from heddle_runtime.identity.callers import OPERATOR, TokenSigner
from integration.browser import browser
from integration.provider import Provider, providing
from knowledge.model_server import DIMENSION, ModelSite, model_site

USER = "ann@uni.example"
MODEL = {"connector": "openai", "model": "m"}
SECRETS = {
    name: (f"{letter * 40}", f"{letter.upper() * 40}")
    for name, letter in {
        "HEDDLE_IDENTITY_SECRET": "i",
        "HEDDLE_ASSISTANTS_KEY_PEPPER": "p",
        "HEDDLE_ASSISTANTS_ENCRYPTION_KEY": "e",
    }.items()
}
"""The former and the new value of each secret."""


@dataclass
class Fleet:
    """Running replicas, and two keys of a user."""

    replicas: Replicas
    client: httpx.AsyncClient
    """The user, before the load balancer."""
    key: str
    idle_key: str
    """A key of the user that the client does not use."""

    async def accounts(self, secret: str, name: str, request: object) -> Any:
        """Call the account service as the operator."""
        return await _accounts(self.replicas, secret, name, request)

    def at_each_gateway(self) -> list[httpx.AsyncClient]:
        """Return a client of the user for each gateway, to be closed."""
        return [browser(url, self.key, PATIENCE) for url in self.replicas.gateways]


@asynccontextmanager
async def fleet(
    folder: Path, shared_servers: Mapping[str, str], **environment: str
) -> AsyncIterator[Fleet]:
    """Run two replicas of all services that share servers."""
    former = {name: values[0] for name, values in SECRETS.items()}
    async with (
        providing() as provider,
        model_site() as site,
        two_replicas(
            folder,
            HEDDLE_GATEWAY_ISSUED_KEYS_ONLY="1",
            **{SETTING: "127.0.0.0/8"},
            HEDDLE_CONNECTOR_OPENAI_BASE_URL=provider.url,
            **former,
            **_embeddings(site),
            **shared_servers,
            **environment,
        ) as replicas,
    ):
        await replicas.start()
        balancer = Balancer(replicas.gateways)
        watching = asyncio.create_task(balancer.watch())
        used, idle = await _keys(replicas, provider)
        headers = {"authorization": f"Bearer {used}"}
        async with httpx.AsyncClient(
            transport=balancer, base_url="http://gateway", headers=headers, timeout=PATIENCE
        ) as client:
            try:
                yield Fleet(replicas, client, used, idle)
            finally:
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)


def _embeddings(site: ModelSite) -> dict[str, str]:
    return {
        "HEDDLE_KNOWLEDGE_EMBEDDINGS_URL": site.url,
        "HEDDLE_KNOWLEDGE_EMBEDDINGS_KEY": site.key,
        "HEDDLE_KNOWLEDGE_EMBEDDINGS_MODEL": "words",
        "HEDDLE_KNOWLEDGE_EMBEDDINGS_DIMENSION": str(DIMENSION),
    }


async def _keys(replicas: Replicas, provider: Provider) -> list[str]:
    """Create an organisation with a provider and a user, and return two keys."""
    openai = {"base_url": provider.url, "api_key": "sk-uni-0123456789abcdef"}
    settings = {"setups": {"default": {"providers": {"openai": openai}}}}
    organization = pb.Organization(slug="uni", settings_json=json.dumps(settings))
    secret = SECRETS["HEDDLE_IDENTITY_SECRET"][0]
    for name, request in (
        (
            "PutOrganization",
            pb.PutOrganizationRequest(organization=organization, allow_failing_providers=True),
        ),
        ("PutUser", pb.PutUserRequest(email=USER, organization="uni", role="creator")),
    ):
        await _accounts(replicas, secret, name, request)
    keys = [pb.Key(name=name, organization="uni", user=USER) for name in ("used", "idle")]
    return [
        (await _accounts(replicas, secret, "CreateKey", pb.CreateKeyRequest(key=key))).secret
        for key in keys
    ]


async def _accounts(replicas: Replicas, secret: str, name: str, request: object) -> Any:
    service = pb.DESCRIPTOR.services_by_name["AccountService"].full_name
    metadata = ((AUTHORIZATION, f"Bearer {TokenSigner(secret).token(OPERATOR, service)}"),)
    address = f"127.0.0.1:{replicas.pair[0].ports['heddle_assistants']}"
    async with grpc.aio.insecure_channel(address) as channel:
        method = getattr(pb_grpc.AccountServiceStub(channel), name)
        return await method(request, timeout=20, metadata=metadata)
