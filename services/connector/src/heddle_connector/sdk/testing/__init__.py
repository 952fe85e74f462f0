"""The test kit for authors of connectors.

It needs no service, no plugin of a test framework and no repository: an author puts a connector
and a test next to each other and runs any test framework.

    from pathlib import Path
    from heddle_connector.sdk.testing import (
        ScriptedProvider, ask, check_conformance, connector_in
    )

    MyConnector = connector_in(Path(__file__).with_name("my_connector.py"))

    def test_conformance():
        check_conformance(MyConnector)

    def test_the_answer():
        provider = ScriptedProvider(b'{"text": "Hello"}')
        answer = ask(MyConnector, "Say hello.", provider, settings={"base_url": "{provider}"})
        assert answer.text == "Hello"
        assert provider.requests[0].json["model"] == "model"

`connector_in` loads a file as the service does, with helpers that it imports relatively. `ask` also
takes conversations, tools and options in OpenAI's format.
"""

from heddle_connector.sdk.testing.conformance import CHECKS, Check, check_conformance
from heddle_connector.sdk.testing.provider import ProviderRequest, Reply, ScriptedProvider
from heddle_connector.sdk.testing.runner import Answer, ask, connector_in, list_models

__all__ = [
    "CHECKS",
    "Answer",
    "Check",
    "ProviderRequest",
    "Reply",
    "ScriptedProvider",
    "ask",
    "check_conformance",
    "connector_in",
    "list_models",
]
