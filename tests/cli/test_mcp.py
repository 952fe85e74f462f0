"""`heddle mcp`."""

import json

import pytest
from cli.conftest import Run

URL = "https://mcp.example.org/mcp"


@pytest.mark.usefixtures("services")
def test_what_a_server_says_is_shown_and_its_pins_are_printed(heddle: Run) -> None:
    code, out, notes = heddle("mcp", "pins", URL, "--credential", "lib", "--organization", "uni")

    assert code == 0
    assert json.loads(out) == {
        "url": URL,
        "credential": "lib",
        "tools": ["find"],
        "pins": {"find": "sha256:12"},
    }
    assert "Finds for uni." in notes
    assert '{"type": "object"}' in notes
    assert "It is too long." in notes
    assert "\x1b[31m" not in notes


@pytest.mark.usefixtures("services")
def test_a_server_that_cannot_be_asked_is_told(heddle: Run) -> None:
    code, out, notes = heddle("mcp", "pins")

    assert (code, out) == (1, "")
    assert "no server" in notes
