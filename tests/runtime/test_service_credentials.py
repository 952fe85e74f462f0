"""`heddle_runtime.service_credentials`."""

import pytest
from heddle_runtime.call_metadata import (
    AUTHORIZATION,
    CALLER,
    REQUEST_ID,
    Caller,
    caller,
    new_call_options,
)
from heddle_runtime.identity import Identity, TokenVerifier
from heddle_runtime.service_credentials import ServiceCredentials

SECRET = "a-secret-of-at-least-32-characters"
ANN = Caller("req_1", Identity("ann", "school"), "her-token")


def test_a_service_calls_in_its_own_name_under_the_request_that_it_serves() -> None:
    CALLER.set(ANN)
    with ServiceCredentials("heddle-gateway", SECRET).as_service():
        sent = dict(new_call_options(1.0)["metadata"])
        inside = caller().identity

    assert inside == Identity("heddle-gateway", scopes=("service",))
    assert TokenVerifier(SECRET).identity(sent[AUTHORIZATION].removeprefix("Bearer ")) == inside
    assert sent[REQUEST_ID] == "req_1"


@pytest.mark.parametrize("error", [None, KeyError])
def test_afterwards_it_calls_for_its_caller_again(error: type[Exception] | None) -> None:
    CALLER.set(ANN)
    try:
        with ServiceCredentials("heddle-gateway", SECRET).as_service():
            if error:
                raise error
    except KeyError:
        pass

    assert caller() == ANN


def test_without_a_secret_there_is_no_token() -> None:
    with ServiceCredentials("heddle-gateway", None).as_service():
        assert AUTHORIZATION not in dict(new_call_options(1.0)["metadata"])
