"""How documents are compared with what their commands print; a check that cannot fail is none."""

from pathlib import Path

import pytest
from docs.console import Step, agrees, pieces, steps


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ({"a": 1}, {"a": 1}),
        ({"a": "…"}, {"a": [1, 2]}),
        ({"a": 1, "…": "…"}, {"a": 1, "b": 2}),
        ([1, "…"], [1, 2, 3]),
        ([1, "…"], [1]),
        ("done in … s", "done in 0.2 s"),
    ],
)
def test_what_is_shown_agrees(shown: object, printed: object) -> None:
    assert agrees(shown, printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, {"a": 1}),
        ({"a": 1, "…": "…"}, {"b": 2}),
        ([1, 2], [1]),
        ([1, "…"], [2]),
        ("done in … s", "failed in 0.2 s"),
        ("a", 1),
    ],
)
def test_what_is_not_shown_does_not(shown: object, printed: object) -> None:
    assert not agrees(shown, printed)


def test_output_is_lines_and_json() -> None:
    output = 'ERROR:\n  Code: NotFound\n  1)\t{\n    \t  "a": 1\n    \t}\n{\n  "b": 2\n}\n'

    assert pieces(output) == ["ERROR:", "Code: NotFound", "1)", {"a": 1}, {"b": 2}]


def test_events_are_compared_however_they_were_grouped() -> None:
    one = '{\n"events": [{"status": {}}, {"textDelta": "ab"}, {"done": {}}]\n}\n'
    two = (
        '{\n"events": [{"status": {}}, {"textDelta": "a"}]\n}\n'
        '{\n"events": [{"textDelta": "b"}, {"done": {}}]\n}\n'
    )

    events = [{"status": {}}, {"textDelta": "ab"}, {"done": {}}]
    assert pieces(one) == pieces(two) == [{"events": events}]


def test_commands_go_on_over_lines(tmp_path: Path) -> None:
    document = tmp_path / "a.md"
    document.write_text("# A\n\n```console\n$ one \\\n  two\nprinted\n$ three 'a\nb'\n```\n")

    assert steps(document) == [
        Step(4, "one \\\n  two", "printed"),
        Step(7, "three 'a\nb'", ""),
    ]
