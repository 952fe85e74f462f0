"""Open WebUI that is connected to LAMB and then to Heddle: its users see the same models.

`make test-open-webui` runs this file. The other commands do not collect it.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from integration.whole import whole
from lamb_stand_in.school import BENS, GONE, TUTOR, WEIRD, school
from lamb_stand_in.server import lamb
from open_webui.model import serving
from open_webui.server import OpenWebUI, open_webui

pytestmark = pytest.mark.timeout(600)
KEY = "lamb_key_of_the_operator"
NAMES = {
    f"lamb_assistant.{BENS}": "Spinner",
    f"lamb_assistant.{GONE}": "The old one <b>",
    f"lamb_assistant.{TUTOR}": "LAMB:1_weaver",
    f"lamb_assistant.{WEIRD}": "Ull de bou, ñ",
}
"""What LAMB calls the models in Open WebUI when it publishes them."""


async def test_open_webui_lists_the_same_models_at_heddle_as_at_lamb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDDLE_IDENTITY_SECRET", "a-secret-of-the-services-of-a-test")
    database = school(tmp_path / "lamb_v4.db").path
    settings: dict[str, Any] = {"development": False, "api_key": KEY}
    async with (
        lamb(database=database) as behind,
        whole(
            tmp_path, lamb_url=behind.url, lamb_database=database, follows=True, **settings
        ) as heddle,
        serving() as model,
        open_webui(tmp_path, behind.url, model.url) as webui,
    ):
        for identifier, name in NAMES.items():
            await webui.post("/api/v1/models/create", published(identifier, name))
        user = OpenWebUI(webui.url, webui.log, await webui.add_user("Ben"))
        at_lamb = list((await user.models()).items())
        assert dict(at_lamb) == NAMES
        await webui.connect(f"{heddle.url}/v1", KEY)
        async with asyncio.timeout(30):
            while list((await user.models()).items()) != at_lamb:
                await asyncio.sleep(0.1)
        assert "/v1/models" in behind.requests[0]
        behind.requests.clear()
        assert list((await user.models(refresh=True)).items()) == at_lamb
        assert behind.requests == [], "the list is Heddle's"


def published(identifier: str, name: str) -> dict[str, object]:
    """Return the model that LAMB creates in Open WebUI for an assistant."""
    capabilities = {"vision": True, "citations": True}
    meta = {"description": "assistant created with lamb", "capabilities": capabilities}
    return {"id": identifier, "name": name, "meta": meta, "params": {}}
