"""Threat 17: JSON that nests deeply, repeats names, or has numbers that no program can hold."""

import pytest
from gateway.conftest import gateway

BODIES = (
    *(b"", b"{", b"[]", b"\xff", b'{"a":1,"a":2}', b'{"a":NaN}', b'{"a":Infinity}'),
    b'{"a":' + b"1" * 5_000 + b"}",
    *(b'{"a":' + b"[" * depth + b"]" * depth + b"}" for depth in (1_100, 5_000, 100_000)),
    b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
)
ROUTES = ("/v1/chat/completions", "/assistants", "/rubrics", "/v1/vector_stores")


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
async def test_a_body_that_no_program_can_hold_is_refused(body: bytes) -> None:
    async with gateway() as bench:
        for route in ROUTES:
            response = await bench.client.post(route, content=body)
            assert response.status_code == 400, route
            assert response.json()["error"]["type"] == "invalid_request_error"
            assert len(response.content) < 1_000
        assert (await bench.chat()).status_code == 200
