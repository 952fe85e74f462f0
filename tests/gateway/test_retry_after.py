"""Every refusal says when to try again: over REST in `Retry-After`, over gRPC in `RetryInfo`."""

import grpc
import pytest
from google.rpc import error_details_pb2
from heddle_gateway.http.error_responses import ErrorResponse, from_error
from heddle_runtime.errors import (
    HeddleError,
    QuotaExceededError,
    ResourceExhaustedError,
    from_status,
    to_status,
)

KINDS = HeddleError.__subclasses__()
REFUSALS = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED)


def retry_after(response: ErrorResponse) -> bytes | None:
    return dict(response.response().headers).get(b"retry-after")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.reason)
def test_an_error_of_every_kind_says_when_to_retry_if_it_is_a_refusal(
    kind: type[HeddleError],
) -> None:
    error = kind("No.")
    delays = [
        detail
        for detail in to_status(error).details
        if detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR)
    ]
    assert bool(delays) == (kind.code in REFUSALS)
    for each in (error, from_status(to_status(error))):
        response = from_error(each)
        assert (retry_after(response) is not None) == (response.status in (429, 503))


@pytest.mark.parametrize("status", ["429", "503"])
def test_a_refusal_of_a_provider_without_a_time_gets_one(status: str) -> None:
    (kind,) = [each for each in KINDS if each.reason == "PROVIDER_REFUSED"]
    response = from_error(kind("No.", http_status=status))
    assert (str(response.status), retry_after(response)) == (status, b"1")


def test_a_time_that_is_known_is_kept() -> None:
    assert retry_after(from_error(ResourceExhaustedError("No.", retry_after=6.2))) == b"7"


def test_a_quota_of_an_assistant_is_tried_again_later_by_people_only() -> None:
    here = QuotaExceededError("No.")
    for error in (here, from_status(to_status(here))):  # also from another process
        headers = dict(from_error(error).response().headers)
        assert headers[b"retry-after"] == b"3600"
        assert headers[b"x-should-retry"] == b"false"
