"""Which model answers when an organisation's settings have a say."""

import pytest
from heddle.account.v1.account_pb2 import Provider
from heddle_connector.routing.model_selection import select_model

OPENAI = Provider(models=["gpt-4o", "gpt-4o-mini"], default_model="gpt-4o-mini", enabled=True)
FIRST = Provider(models=["a", "z"], default_model="b", enabled=True)
ANY = Provider(enabled=True)


@pytest.mark.parametrize(
    ("providers", "default", "model", "expected"),
    [
        ({"openai": OPENAI}, "", "gpt-4o", ("openai", "gpt-4o")),
        ({"openai": ANY}, "ollama/llama", "anything", ("openai", "anything")),
        ({"openai": OPENAI}, "openai/gpt-4o", "gone", ("openai", "gpt-4o")),
        ({"openai": OPENAI, "ollama": ANY}, "ollama/a/b", "gone", ("ollama", "a/b")),
        ({"openai": OPENAI}, "ollama/llama", "gone", ("openai", "gpt-4o-mini")),
        ({"openai": OPENAI}, "openai/gone", "gone", ("openai", "gpt-4o-mini")),
        ({"openai": FIRST}, "", "c", ("openai", "a")),
        ({"ollama": ANY}, "ollama/llama", "gpt-4o", ("ollama", "llama")),
        ({"openai": Provider(models=["gpt-4o"])}, "", "gpt-4o", None),
        ({"openai": Provider(), "ollama": ANY}, "ollama/llama", "x", ("ollama", "llama")),
        ({"ollama": Provider()}, "ollama/llama", "x", None),
        ({}, "openai/gpt-4o", "x", None),
    ],
)  # fmt: skip
def test_an_unavailable_model_is_replaced_as_in_lamb(
    providers: dict[str, Provider],
    default: str,
    model: str,
    expected: tuple[str, str] | None,
) -> None:
    assert select_model(providers, default, "openai", model) == expected
