"""Sources in the trace of a run."""

import pytest
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.tool.v1 import tool_pb2
from heddle_orchestrator.trace.steps import trace_source

IMAGE = "/v1/vector_stores/vs_1/files/file-2/pages/3"


def source_of(**attributes: str) -> pb.Trace.Source:
    return trace_source(tool_pb2.Source(title="Looms", excerpt="A shed.", attributes=attributes))


def test_a_source_tells_its_page_and_the_image_of_it() -> None:
    assert source_of(page="3", picture_uri=IMAGE) == pb.Trace.Source(
        title="Looms", excerpt="A shed.", page=3, page_image=IMAGE
    )


@pytest.mark.parametrize(
    "address",
    [
        *("", f"https://evil.example{IMAGE}", f"/{IMAGE}", f"{IMAGE}?x=1", f"{IMAGE}\n"),
        *("/v1/vector_stores/../files/a/pages/1", "/logout", "/v1/vector_stores/a/files/b/pages/²"),
    ],
)
def test_no_other_address_of_a_tool_is_an_image_of_a_page(address: str) -> None:
    assert not source_of(picture_uri=address).page_image


@pytest.mark.parametrize("page", ["", "three", "-1", "²"])
def test_a_page_is_a_number(page: str) -> None:
    assert not source_of(page=page).page
