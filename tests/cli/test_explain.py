"""A failed command says where its causes and remedies are."""

import pytest
from cli.conftest import Run, whole_output
from heddle_runtime.errors.guide import anchor, explanations


@pytest.fixture(autouse=True)
def nothing_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDDLE_CONNECTOR_ADDRESS", "127.0.0.1:1")


def test_a_failed_command_names_the_command_that_explains_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, _, notes = whole_output(capsys, "models")

    assert notes.splitlines()[-1] == "See `heddle explain upstream-unavailable`"


def test_with_a_documentation_site_a_failed_command_links_to_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDDLE_DOCUMENTATION_URL", "https://docs.example.org/")

    _, _, notes = whole_output(capsys, "models")

    link = "https://docs.example.org/reference/errors.html#upstream-unavailable"
    assert notes.splitlines()[-1] == f"See {link}"


@pytest.mark.parametrize("reason", explanations())
def test_each_reason_is_explained_by_either_of_its_names(heddle: Run, reason: str) -> None:
    code, out, _ = heddle("explain", anchor(reason))

    assert code == 0
    assert all(text in out for text in explanations()[reason].causes)
    assert all(text in out for text in explanations()[reason].remedies)
    assert heddle("explain", reason)[1] == out


def test_an_unknown_reason_is_refused_with_the_known_ones(heddle: Run) -> None:
    code, _, notes = heddle("explain", "bad-luck")

    assert code == 1
    assert "not-found" in notes
