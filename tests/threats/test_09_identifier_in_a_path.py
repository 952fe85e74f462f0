"""Threat 9: an identifier with an encoded slash leads to another route or another thing.

For requests of services to knowledge-base servers, see
`tests/tools_service/knowledge_bases/test_hostile_servers.py`.
"""

from pathlib import Path

import pytest
from gateway.library import TUTOR, library

PATHS = (
    *("/assistants/{id}%2Fusage", "/assistants/{id}%2fusage", "/assistants%2F{id}"),
    *("/assistants/x%2F..%2F{id}", "/v1%2Fmodels", "/assistants/{id}%2F", "/%2Fassistants/{id}"),
)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_an_encoded_slash_separates_no_parts_of_a_path(tmp_path: Path, method: str) -> None:
    async with library(tmp_path) as shelf:
        created = await shelf["ana"].post("/assistants", json=TUTOR)
        identifier = created.json()["id"]
        for path in PATHS:
            response = await shelf["ana"].request(method, path.format(id=identifier))
            assert response.status_code == 404, path
            if response.content:
                assert response.json()["error"]["code"] == "unknown_url", path
        assert (await shelf["ana"].get(f"/assistants/{identifier}")).status_code == 200
        chat = await shelf["ana"].post("/v1/chat%2Fcompletions", json={})
        assert chat.status_code == 404
