"""The client for everything but plain HTTP keeps the same promises; tested without the TLS."""

from collections.abc import Awaitable, Callable

import pytest
from heddle_runtime.errors import HeddleError, ProviderGarbledError

from connector import test_http as promises
from connector import test_openai_failures as failures
from connector.test_plain_http import OK, client, got, post, saying

Promise = Callable[[pytest.MonkeyPatch], Awaitable[None]]


@pytest.fixture(autouse=True)
def secure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send everything the way of `https://`."""
    monkeypatch.setattr("heddle_connector.http.client.address", lambda _: None)


@pytest.mark.parametrize(
    "promise",
    [
        promises.test_a_connection_serves_one_request_after_the_other,
        promises.test_an_unreachable_provider_is_unavailable_and_its_address_stays_ours,
        promises.test_a_provider_that_is_overloaded_for_a_moment_is_asked_once_more,
        promises.test_a_connection_that_died_in_the_pool_is_replaced,
        promises.test_a_provider_that_keeps_the_connection_open_after_the_end_costs_no_time,
        promises.test_neither_proxies_nor_cookies_nor_passwords_of_the_environment_are_used,
        failures.test_an_endless_line_is_cut_off,
        failures.test_an_endless_whole_reply_is_cut_off,
    ],
)
async def test_it_keeps_the_promises(promise: Promise, monkeypatch: pytest.MonkeyPatch) -> None:
    await promise(monkeypatch)


@pytest.mark.parametrize("how", ["503", "reset"])
async def test_it_asks_twice_and_no_more(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await promises.test_a_provider_that_stays_down_is_asked_twice_and_no_more(how, monkeypatch)


@pytest.mark.parametrize("when", ["before the answer", "in mid-answer"])
async def test_it_keeps_the_deadline(when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await promises.test_a_provider_that_falls_silent_ends_with_the_deadline(when, monkeypatch)


@pytest.mark.parametrize("whole", [False, True])
async def test_what_is_no_answer_is_a_typed_error(whole: bool) -> None:
    for piece in (b"SSH-2.0-x\r\n\r\n", OK + b"Content-Length: 3\r\n\r\nhi"):
        async with client(saying(piece, keep=False)) as (http, made):
            with pytest.raises(HeddleError) as caught:
                await got(http, post(made), whole)
        assert type(caught.value) is ProviderGarbledError
