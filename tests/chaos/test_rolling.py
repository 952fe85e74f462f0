"""Rolling restarts of two replicas, also while an operator replaces all secrets."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from chaos.load import KINDS, PATIENCE, Load
from chaos.replicas import Balancer, Replicas, gateways, two_replicas
from chaos.report import Report
from heddle.account.v1 import account_pb2 as pb
from heddle.account.v1 import account_pb2_grpc as pb_grpc
from heddle_runtime.call_metadata import AUTHORIZATION
from heddle_runtime.egress import SETTING
from heddle_runtime.identity import OPERATOR, TokenSigner
from integration.processes import MODULES
from integration.provider import Provider, providing
from patience import until

CALLS = 10_000
USER = "ann@uni.example"
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
    """Replicas under load of an organisation, whose provider's key is encrypted."""

    replicas: Replicas
    load: Load
    idle_key: str
    """A key of the organisation that the load does not use."""

    async def accounts(self, secret: str, name: str, request: object) -> Any:
        """Call the account service as the operator."""
        return await _accounts(self.replicas, secret, name, request)


@asynccontextmanager
async def fleet(folder: Path) -> AsyncIterator[Fleet]:
    """Run two replicas of all services under load."""
    former = {name: values[0] for name, values in SECRETS.items()}
    async with (
        providing() as provider,
        two_replicas(
            folder,
            HEDDLE_GATEWAY_ISSUED_KEYS_ONLY="1",
            **{SETTING: "127.0.0.0/8"},
            HEDDLE_CONNECTOR_OPENAI_BASE_URL=provider.url,
            **former,
        ) as replicas,
    ):
        await replicas.start()
        balancer = Balancer(gateways(replicas))
        watching = asyncio.create_task(balancer.watch())
        used, idle = await _keys(replicas, provider)
        headers = {"authorization": f"Bearer {used}"}
        async with httpx.AsyncClient(
            transport=balancer, base_url="http://gateway", headers=headers, timeout=PATIENCE
        ) as client:
            model = {"connector": "openai", "model": "m"}
            response = await client.post("/assistants", json={"name": "tutor", "model": model})
            assert response.is_success, response.text
            load = Load(client, f"lamb_assistant.{response.json()['id']}", model, pause=0.005)
            try:
                yield Fleet(replicas, load, idle)
            finally:
                await load.stop()
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)


async def _keys(replicas: Replicas, provider: Provider) -> list[str]:
    """Create an organisation with a provider and a user, and return two keys."""
    openai = {"base_url": provider.url, "api_key": "sk-uni-0123456789abcdef"}
    settings = {"setups": {"default": {"providers": {"openai": openai}}}}
    organization = pb.Organization(slug="uni", settings_json=json.dumps(settings))
    secret = SECRETS["HEDDLE_IDENTITY_SECRET"][0]
    for name, request in (
        ("PutOrganization", pb.PutOrganizationRequest(organization=organization)),
        ("PutUser", pb.PutUserRequest(email=USER, organization="uni")),
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


@pytest.mark.chaos
@pytest.mark.timeout(500)
async def test_rolling_restarts_and_new_secrets_fail_no_call(
    tmp_path: Path, report: Report
) -> None:
    count = 2 * len(MODULES)
    async with fleet(tmp_path) as running:
        load = running.load
        load.start(KINDS, clients=3)
        both = {name: ",".join(values) for name, values in SECRETS.items()}
        await running.replicas.restart(**both)
        await until(lambda: len(load.history.operations) >= CALLS, 200)
        await load.check()
        report.add(f"rolling restart of {count} processes", load.history, errors_allowed=False)

        load.pause = 0.05
        load.start(KINDS, clients=1)
        swapped = {name: f"{new},{former}" for name, (former, new) in SECRETS.items()}
        await running.replicas.restart(**swapped)
        assert await _under_former_pepper(running) == ["idle"]
        response = await load.client.get(
            "/assistants", headers={"authorization": f"Bearer {running.idle_key}"}
        )
        assert response.is_success, response.text
        assert await _under_former_pepper(running) == []
        await running.replicas.restart(**{name: new for name, (_, new) in SECRETS.items()})
        await load.check()
        report.add("all secrets replaced", load.history, errors_allowed=False)


async def _under_former_pepper(running: Fleet) -> list[str]:
    """Return the names of the keys that need the former pepper."""
    secret = SECRETS["HEDDLE_IDENTITY_SECRET"][1]
    response = await running.accounts(secret, "ListKeys", pb.ListKeysRequest())
    return [key.name for key in response.keys if key.former_pepper]
