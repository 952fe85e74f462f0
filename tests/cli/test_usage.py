"""`heddle usage`, with the real service."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.conftest import Run
from cli.keeping import AssistantDatabase
from heddle.assistant.v1.assistant_pb2 import ModelRef
from heddle.usage.v1 import usage_pb2 as pb
from heddle.usage.v1.usage_pb2_grpc import UsageServiceStub
from heddle_cli.connections import connected
from heddle_runtime.identity.callers import SERVICE, Identity

METADATA = json.dumps(
    {
        "connector": "openai",
        "llm": "gpt-4o",
        "rag_processor": "no_rag",
        "quota": {"enabled": True, "cost_limit_usd": 5},
    }
)
RECORDER = Identity("orchestrator", scopes=(SERVICE,))
PRICES = {"openai/gpt-4o": {"input": 2.5, "cached_input": 1.25, "output": 10}}


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A service with two assistants, and an environment that leads to it."""
    monkeypatch.delenv("HEDDLE_IDENTITY_SECRET", raising=False)
    kept = AssistantDatabase(tmp_path)
    kept.add({"id": number, "name": f"a{number}", "metadata": METADATA} for number in (1, 2))
    prices = tmp_path / "prices"
    prices.write_text(json.dumps(PRICES))
    with kept.served(prices=prices) as address:
        monkeypatch.setenv("HEDDLE_ASSISTANTS_ADDRESS", address)
        yield address


def consume(*answered: tuple[str, str]) -> None:
    """Record an answer of each assistant and model."""
    counts = pb.Counts(requests=1, prompt_tokens=1000, cached_tokens=400, completion_tokens=100)
    entries = [
        pb.UsageEntry(
            number=number,
            assistant_id=assistant,
            model=ModelRef(connector="openai", model=model),
            counts=counts,
        )
        for number, (assistant, model) in enumerate(answered, start=1)
    ]
    request = pb.RecordUsageRequest(recorder="test", entries=entries)
    with connected("assistants", UsageServiceStub, RECORDER) as connection:
        connection.stub.RecordUsage(request)


@pytest.mark.usefixtures("service")
def test_usage_is_a_table_with_a_row_for_each_model(heddle: Run) -> None:
    consume(("1", "gpt-4o"), ("1", "o1"), ("2", "gpt-4o"))

    code, out, notes = heddle("usage")

    assert (code, notes) == (0, "")
    head, *rows = [line.split() for line in out.splitlines()]
    assert head[:3] == ["ASSISTANT", "ORGANISATION", "MODEL"]
    counts = ["1", "0", "1000", "400", "100"]
    known = ["0", "0.003000", "5.000000"]
    assert rows == [
        ["1", "uni", "openai/gpt-4o", *counts, *known, "a1"],
        ["1", "uni", "openai/o1", *counts, "1100", "0.000000", "5.000000", "a1"],
        ["2", "uni", "openai/gpt-4o", *counts, *known, "a2"],
    ]
    assert len(head) == len(rows[0])
    two = heddle("usage", "--assistant", "2")[1].splitlines()
    assert [line.split() for line in two] == [head, rows[2]]
    assert heddle("usage", "--organization", "uni")[1] == out


@pytest.mark.usefixtures("service")
def test_nothing_consumed_is_told(heddle: Run) -> None:
    for arguments in ((), ("--assistant", "1"), ("--organization", "nowhere")):
        assert heddle("usage", *arguments) == (0, "", "Nothing was consumed yet.\n")


@pytest.mark.usefixtures("service")
def test_an_assistant_elsewhere_is_not_shown(heddle: Run) -> None:
    consume(("1", "gpt-4o"))
    assert heddle("usage", "--assistant", "1", "--organization", "college")[1] == ""


@pytest.mark.usefixtures("service")
def test_a_count_is_begun_anew(heddle: Run) -> None:
    consume(("1", "gpt-4o"), ("2", "gpt-4o"))
    assert heddle("usage", "--assistant", "1", "--reset") == (0, "1: begun anew\n", "")
    rows = heddle("usage")[1].splitlines()[1:]
    assert [row.split()[0] for row in rows] == ["2"]


@pytest.mark.usefixtures("service")
def test_a_reset_needs_an_assistant_that_is_there(heddle: Run) -> None:
    code, out, notes = heddle("usage", "--reset")
    assert (code, out, "Name the assistant." in notes) == (2, "", True)
    missing = heddle("usage", "--assistant", "3", "--reset")
    assert missing == (1, "", "heddle: No assistant is named '3'.\n")
