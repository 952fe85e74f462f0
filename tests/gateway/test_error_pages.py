"""Every error leads to a section that says what callers can do about it."""

import re

import pytest
from gateway.conftest import Bench, Start
from gateway.neighbours import HELLO
from heddle.error.v1.error_pb2 import ErrorReason
from heddle_gateway.http.error_responses import ErrorResponse, from_error, from_exception
from heddle_runtime.errors import HeddleError, ProviderGarbledError, ProviderRefusedError
from heddle_runtime.errors.guide import anchor, explanations

KINDS = (HeddleError, *HeddleError.__subclasses__())
REASONS = [name.removeprefix("ERROR_REASON_") for name in ErrorReason.keys()[1:]]
SECTION = re.compile(r'<h2 id="([a-z-]+)">')


def test_every_reason_of_the_contract_has_causes_and_remedies() -> None:
    assert list(explanations()) == REASONS
    for reason, explanation in explanations().items():
        assert explanation.meaning.endswith("."), reason
        assert explanation.causes, reason
        assert explanation.remedies, reason


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.reason)
def test_an_error_links_to_the_section_of_its_reason(kind: type[HeddleError]) -> None:
    assert from_error(kind("No.")).documentation_url == f"/errors#{anchor(kind.reason)}"


def test_an_error_of_the_gateway_itself_links_to_the_reason_of_its_status() -> None:
    sections = {f"/errors#{anchor(reason)}" for reason in REASONS}
    links = {status: ErrorResponse(status, "No.").documentation_url for status in range(400, 600)}

    assert set(links.values()) <= sections
    assert links[404] == "/errors#not-found"
    assert links[413] == "/errors#invalid-request"
    assert links[503] == "/errors#upstream-unavailable"
    assert from_exception(ValueError()).documentation_url == "/errors#internal"


def test_refused_credentials_are_the_provider_s() -> None:
    error = from_error(ProviderRefusedError("No.", http_status="401"))

    assert (error.code, error.documentation_url) == (
        "provider_credentials_refused",
        "/errors#provider-refused",
    )


async def test_the_link_of_a_response_leads_to_a_page_that_needs_no_key(bench: Bench) -> None:
    error = (await bench.client.get("/assistants/99")).json()["error"]
    address, _, section = error["documentation_url"].partition("#")

    page = await bench.client.get(address, headers={"authorization": ""})

    assert page.status_code == 200
    assert set(SECTION.findall(page.text)) == {anchor(reason) for reason in REASONS}
    assert section in SECTION.findall(page.text)
    assert "default-src 'none'" in page.headers["content-security-policy"]


async def test_an_unknown_path_has_a_link_too(bench: Bench) -> None:
    error = (await bench.client.get("/nothing")).json()["error"]

    assert error["documentation_url"] == "/errors#not-found"


async def test_a_stream_that_fails_ends_with_the_link(bench: Bench) -> None:
    bench.orchestrator.script = [*HELLO[:1], ProviderGarbledError("The answer is not JSON.")]

    response = await bench.chat(stream=True)

    lines = [line for line in response.text.splitlines() if '"error"' in line]
    assert len(lines) == 1
    assert '"documentation_url":"/errors#provider-garbled"' in lines[0]


async def test_with_a_documentation_site_the_page_is_there(start: Start) -> None:
    site = "https://docs.example.org/heddle/"
    async with start(HEDDLE_DOCUMENTATION_URL=site) as bench:
        response = await bench.client.get("/errors", follow_redirects=False)

    assert response.status_code == 303
    assert response.headers["location"] == f"{site}reference/errors.html"
