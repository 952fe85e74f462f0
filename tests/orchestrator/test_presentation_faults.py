"""The icon and the starter questions of an assistant."""

import pytest
from heddle.assistant.v1 import assistant_pb2
from heddle_orchestrator.validation.faults import Installed, faults_of

_LONG = 201 * "a"


@pytest.mark.parametrize(
    ("members", "fields"),
    [
        ({}, set()),
        ({"icon": "🧵", "starter_questions": ["What is a weft?"]}, set()),
        ({"icon": "👩🏽‍🏫"}, set()),
        ({"icon": "data:image/png;base64,iVBORw0KGgo="}, set()),
        ({"icon": "loom"}, {"icon"}),
        ({"icon": "🧵" * 17}, {"icon"}),
        ({"icon": "https://example.org/a.png"}, {"icon"}),
        ({"icon": "data:image/svg+xml;base64,PHN2Zz4="}, {"icon"}),
        ({"icon": f"data:image/png;base64,{12_000 * 'a'}"}, {"icon"}),
        ({"starter_questions": ["a"] * 7}, {"starter_questions"}),
        (
            {"starter_questions": ["a", " ", _LONG]},
            {"starter_questions[1]", "starter_questions[2]"},
        ),
    ],
)
def test_an_icon_and_starter_questions_have_limits(
    members: dict[str, object], fields: set[str]
) -> None:
    model = assistant_pb2.ModelRef(connector="openai", model="m")
    assistant = assistant_pb2.Assistant(model=model, **members)  # type: ignore[arg-type]
    faults = faults_of(assistant, Installed(connectors=None, bindings=None))
    assert {each.violation.field.removeprefix("assistant.") for each in faults} == fields
