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
    ("entry", "problem"),
    [
        ("https://example.org", "has a scheme"),
        ("//example.org", "has a scheme"),
        ("example.org/path", "has a path"),
        ("example.org?q", "has a path"),
        ("ana@example.org", "has a user"),
        ("example.org:443", "has a port"),
        ("[::1]", "has a port or is an address of IPv6"),
        ("*", "has * in another place"),
        ("*.*.example.org", "has * in another place"),
        ("www.*.org", "has * in another place"),
        ("*example.org", "has * in another place"),
        ("b\u00fccher.example", "has letters beyond ASCII"),
        ("-a.example", "is no host name"),
        ("a..example", "is no host name"),
        ("*.", "is no host name"),
        ("example.org.", "is no host name"),
        ("a_b.example", "is no host name"),
        ("a,b.example", "is no host name"),
        ("a&b.example", "is no host name"),
        (f"{'a' * 64}.example", "is no host name"),
        (".".join(["a" * 63] * 4), "has more than 253 characters"),
        ("none", "stands for no host"),
    ],
)
def test_wrong_entries_are_named_with_their_place(entry: str, problem: str) -> None:
    [(wrong, description)] = host_problems(f"good.example {entry}")
    assert wrong == entry
    assert description.startswith(f"entry 2, {entry[:80]!r}, {problem}")
