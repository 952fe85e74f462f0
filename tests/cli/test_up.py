"""`heddle up` without the services; tests/devstack/test_start.py runs it with them."""

import pytest
from heddle_cli.commands import up
from heddle_runtime.errors import NotSetUpError


def test_an_installation_without_services_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(up, "_ALL_SERVICES", "heddle_of_nobody")
    with pytest.raises(NotSetUpError, match="Install heddle-server"):
        up.up()
