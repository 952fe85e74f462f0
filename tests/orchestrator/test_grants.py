"""The grant with which the tools of an assistant read collections."""

import pytest
from heddle_runtime.errors import UnauthenticatedError
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.grants import Grant, GrantVerifier, carrying
from orchestrator.harness import ask, assistant, kinds, orchestrating, tool

SECRET = "s" * 32
ANN = Identity("ann@uni.example", "uni", ("creator",))


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_completion_signs_the_grant_of_its_tools_for_its_caller(streamed: bool) -> None:
    async with orchestrating(identity_secret=SECRET) as harness:
        CALLER.set(Caller("r", ANN))
        request = ask(assistant(tool("simple_rag", collections=["a"], text="Looms weave.")))
        events = await (harness.events(request) if streamed else harness.whole(request))
        [seen] = harness.tools.seen

    assert kinds(events)[-1] == "done"
    with carrying(seen.context.grant):
        assert GrantVerifier(SECRET).current() == Grant(ANN.subject, "uni")
        with pytest.raises(UnauthenticatedError):
            GrantVerifier("t" * 32).current()
