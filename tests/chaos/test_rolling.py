"""Rolling restarts of two replicas, also while an operator replaces all secrets."""

from pathlib import Path

import pytest
from chaos.fleet import MODEL, SECRETS, Fleet, fleet
from chaos.load import Load
from chaos.report import Report
from heddle.account.v1 import account_pb2 as pb
from integration.processes import MODULES
from patience import until

CALLS = 10_000


@pytest.mark.chaos
@pytest.mark.timeout(500)
async def test_rolling_restarts_and_new_secrets_fail_no_call(
    tmp_path: Path, shared_servers: dict[str, str], report: Report
) -> None:
    count = 2 * len(MODULES)
    async with fleet(tmp_path, shared_servers) as running:
        response = await running.client.post("/assistants", json={"name": "tutor", "model": MODEL})
        assert response.is_success, response.text
        assistant = f"lamb_assistant.{response.json()['id']}"
        load = Load(running.client, assistant, MODEL, pause=0.005)
        load.start(clients=3)
        both = {name: ",".join(values) for name, values in SECRETS.items()}
        await running.replicas.restart(**both)
        await until(lambda: len(load.history.operations) >= CALLS, 200)
        await load.check()
        report.add(f"rolling restart of {count} processes", load.history, errors_allowed=False)

        load.pause = 0.05
        load.start(clients=1)
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
