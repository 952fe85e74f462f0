"""Lists of hosts: what is accepted, and how wrong entries are named."""

import pytest
from heddle_runtime.contract.host_lists import host_problems


@pytest.mark.parametrize(
    "text",
    [
        "",
        "none",
        "example.org",
        " Example.org\n*.example.org ",
        "localhost 127.0.0.1 xn--bcher-kva.example",
        f"{'a' * 63}.example",
    ],
)
def test_hosts_are_accepted(text: str) -> None:
    assert list(host_problems(text)) == []


@pytest.mark.parametrize(
    "entry",
    [
        *("https://example.org", "example.org/path", "ana@example.org", "example.org:443", "[::1]"),
        *("*", "*.*.example.org", "www.*.org", "*example.org", "b\u00fccher.example", "*."),
        *("-a.example", "a..example", "example.org.", "a_b.example", "a,b.example"),
        *(f"{'a' * 64}.example", ".".join(["a" * 63] * 4)),
    ],
)
def test_wrong_entries_are_named_with_their_place(entry: str) -> None:
    [(wrong, description)] = host_problems(f"good.example {entry}")
    assert wrong == entry
    assert description.startswith(f"entry 2, {entry[:80]!r}, is no host name")


def test_no_host_stands_alone() -> None:
    [(_, description)] = host_problems("good.example none")
    assert "stands for no host" in description
