"""The test kit for authors of connectors.

It needs no service, no plugin of a test framework and no repository: an author puts a connector
and a test next to each other and runs any test framework.

    from heddle_connector.sdk.testing import ScriptedProvider, ask, check_conformance
    from my_connector import MyConnector

    def test_conformance():
        check_conformance(MyConnector)

    def test_the_answer():
        provider = ScriptedProvider(b'{"text": "Hello"}')
        answer = ask(MyConnector, "Say hello.", provider, settings={"base_url": "{provider}"})
        assert answer.text == "Hello"
        assert provider.requests[0].json["model"] == "m"
"""

from heddle_connector.sdk.testing.conformance import CHECKS, Check, check_conformance
from heddle_connector.sdk.testing.provider import ProviderRequest, Reply, ScriptedProvider
from heddle_connector.sdk.testing.runner import Answer, ask, list_models

__all__ = [
    "CHECKS",
    "Answer",
    "Check",
    "ProviderRequest",
    "Reply",
    "ScriptedProvider",
    "ask",
    "check_conformance",
    "list_models",
]
