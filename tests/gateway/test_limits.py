"""Paths, methods and heads that are not as clients send them."""

from gateway.bare_sockets import ask
from gateway.conftest import Start


async def test_other_paths_and_methods_are_refused_in_openais_form(start: Start) -> None:
    async with start() as bench:
        missing = await bench.client.get("/v1/nothing")
        assert (missing.status_code, missing.json()["error"]["code"]) == (404, "unknown_url")
        wrong = await bench.client.get("/v1/chat/completions")
        assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
        assert wrong.json()["error"]["code"] == "method_not_allowed"


async def test_head_is_answered_as_get_is_without_its_body(start: Start) -> None:
    async with start() as bench:
        for path in ("/health", "/v1/models", "/v1/models/none"):
            whole, head = await bench.client.get(path), await bench.client.head(path)
            assert (head.status_code, head.content) == (whole.status_code, b"")
            assert head.headers["content-length"] == str(len(whole.content))
        wrong = await bench.client.head("/v1/chat/completions")
        assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
        assert (await bench.client.put("/health")).headers["allow"] == "GET, HEAD"


async def test_bytes_that_are_not_http_do_no_harm(start: Start) -> None:
    async with start() as bench:
        assert (await ask(bench, b"\x16\x03\x01\x02\x00\x01")).startswith(b"HTTP/1.1 400")
        assert (await bench.chat()).status_code == 200
