"""`heddle_runtime.identity.service_credentials`."""

import pytest
from heddle_runtime.identity.call_metadata import (
    CALLER,
    REQUEST_ID,
    Caller,
    caller,
    new_call_options,
)
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.service_credentials import ServiceCredentials

ANN = Caller("req_1", Identity("ann", "school"))


def test_a_service_calls_in_its_own_name_under_the_request_that_it_serves() -> None:
    CALLER.set(ANN)
    with ServiceCredentials("heddle-gateway").as_service():
        sent = dict(new_call_options(1.0)["metadata"])
        inside = caller().identity

    assert inside == Identity("heddle-gateway", scopes=("service",))
    assert sent[REQUEST_ID] == "req_1"


@pytest.mark.parametrize("error", [None, KeyError])
def test_afterwards_it_calls_for_its_caller_again(error: type[Exception] | None) -> None:
    CALLER.set(ANN)
    try:
        with ServiceCredentials("heddle-gateway").as_service():
            if error:
                raise error
    except KeyError:
        pass

    assert caller() == ANN
