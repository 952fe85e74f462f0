"""`heddle_runtime.acting`."""

import pytest
from heddle_runtime.acting import Acting
from heddle_runtime.calls import AUTHORIZATION, CALLER, REQUEST_ID, Caller, caller, outgoing
from heddle_runtime.identity import Identity, TokenVerifier

SECRET = "a-secret-of-at-least-32-characters"
ANN = Caller("req_1", Identity("ann", "school"), "her-token")


def test_a_service_calls_in_its_own_name_under_the_request_that_it_serves() -> None:
    CALLER.set(ANN)
    with Acting("heddle-gateway", SECRET).itself():
        sent = dict(outgoing(1.0)["metadata"])
        inside = caller().identity

    assert inside == Identity("heddle-gateway", scopes=("service",))
    assert TokenVerifier(SECRET).identity(sent[AUTHORIZATION].removeprefix("Bearer ")) == inside
    assert sent[REQUEST_ID] == "req_1"


@pytest.mark.parametrize("error", [None, KeyError])
def test_afterwards_it_calls_for_its_caller_again(error: type[Exception] | None) -> None:
    CALLER.set(ANN)
    try:
        with Acting("heddle-gateway", SECRET).itself():
            if error:
                raise error
    except KeyError:
        pass

    assert caller() == ANN


def test_without_a_secret_there_is_no_token() -> None:
    with Acting("heddle-gateway", None).itself():
        assert AUTHORIZATION not in dict(outgoing(1.0)["metadata"])
