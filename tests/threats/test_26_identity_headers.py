"""Threat 26: clients that name a user in headers or bodies without the right to.

`tests/gateway/test_impersonation.py` shows what a trusted key may name, and
`tests/runtime/test_untrusted_call_metadata.py` what gRPC metadata may say.
"""

from typing import Any

import pytest
from gateway.bare_sockets import ask
from gateway.conftest import KEY, gateway
from heddle_runtime.identity.callers import NO_IDENTITY

SECRET = "a-secret-of-at-least-32-characters"
EVE = "eve@evil.example"
EMAIL = "X-OpenWebUI-User-Email"
BODY = '{"model": "lamb_assistant.1", "messages": [{"role": "user", "content": "hi"}]'
COPIES = {
    "nothing": "",
    "user": f', "user": "{EVE}"',
    "headers in the body": f', "__openwebui_headers__": {{"{EMAIL}": "{EVE}"}}',
    "an identity in the body": f', "identity": {{"subject": "{EVE}", "scopes": ["admin"]}}',
}
HEADERS = {
    "the header": f"{EMAIL}: {EVE}\r\n",
    "two of them": f"{EMAIL}: {EVE}\r\n{EMAIL}: bob@uni.example\r\n",
    "underscores": f"x_openwebui_user_email: {EVE}\r\n",
    "lower case": f"x-openwebui-user-email: {EVE}\r\n",
    "not ASCII": f"{EMAIL}: \u00ebve@evil.example\r\n",
    "the role": f"{EMAIL}: {EVE}\r\nX-OpenWebUI-User-Role: admin\r\n",
    "a token of the services": "x-heddle-identity: admin\r\nheddle-authorization: Bearer x\r\n",
    "a proxy": f"X-Forwarded-User: {EVE}\r\nX-Remote-User: {EVE}\r\nForwarded: for=127.0.0.1\r\n",
    "a grant": "heddle-grant: x\r\ngrpc-metadata-authorization: Bearer x\r\n",
}
BROKEN = {
    "a line end in the value": f"X-A: b\r{EMAIL}: {EVE}\r\n",
    "a folded line": f"X-A: b\r\n {EMAIL}: {EVE}\r\n",
    "a space before the colon": f"{EMAIL} : {EVE}\r\n",
    "NUL": f"{EMAIL}: eve\0@evil.example\r\n",
}
"""Not HTTP: these may be refused."""


def request(headers: str, body: str, *, trailer: bool = False) -> bytes:
    text = body + "}"
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\nconnection: close\r\n"
        f"authorization: Bearer {KEY}\r\ncontent-type: application/json\r\n{headers}"
    )
    if trailer:
        end = f"{len(text):x}\r\n{text}\r\n0\r\n{EMAIL}: {EVE}\r\n\r\n"
        return f"{head}transfer-encoding: chunked\r\ntrailer: {EMAIL}\r\n\r\n{end}".encode()
    return f"{head}content-length: {len(text)}\r\n\r\n{text}".encode()


@pytest.mark.parametrize("transport", ["rpc", "local"])
async def test_no_client_acts_as_another(transport: str) -> None:
    async with gateway(transport, secret=SECRET) as bench:

        async def answer(sent: bytes) -> bytes:
            before = len(bench.orchestrator.callers)
            response = await ask(bench, sent)
            subjects = {each.identity.subject for each in bench.orchestrator.callers[before:]}
            assert subjects <= {"operator"}, sent
            return bytes(response)

        for extra in COPIES.values():
            for headers in HEADERS.values():
                response = await answer(request(headers, BODY + extra))
                assert response.startswith(b"HTTP/1.1 200"), (headers, response[:200])
            for headers in BROKEN.values():
                response = await answer(request(headers, BODY + extra))
                assert response.startswith((b"HTTP/1.1 400", b"HTTP/1.1 200")), headers
        await answer(request("", BODY, trailer=True))
        seen: Any = bench.orchestrator.callers
        assert len(seen) >= len(COPIES) * len(HEADERS)
        assert not [each for each in seen if each.identity == NO_IDENTITY or "eve" in str(each)]
