"""`heddle doctor` and a gateway: what it asks over HTTP, and what it prints."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Run
from heddle_cli.doctor.gateway import LISTEN, gateway_finding
from runtime.ports import free_port


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each check in an empty folder, without settings."""
    for name in [each for each in os.environ if each.startswith("HEDDLE_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@contextmanager
def answering(pages: dict[str, tuple[int, Any]]) -> Iterator[str]:
    """Serve pages by path; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, members = pages.get(self.path, (404, {}))
            body = json.dumps(members).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


HEALTH = (200, {"status": "ok", "services": {"tools": True, "knowledge": False}})


@pytest.mark.parametrize(
    ("pages", "result", "text"),
    [
        ({"/health": HEALTH}, "ok", "answers: ok."),
        ({"/health": (200, {"status": "UP"})}, "wrong", "is no gateway of Heddle."),
        ({"/health": (301, [])}, "wrong", "is no gateway of Heddle."),
    ],
)
def test_the_gateway_is_checked_over_http(
    pages: dict[str, tuple[int, Any]], result: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(pages) as url:
        monkeypatch.setenv(LISTEN, url.removeprefix("http://"))
        finding = gateway_finding()

    assert finding.result == result
    assert text in finding.finding


def test_a_gateway_that_cannot_be_reached_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LISTEN, f"127.0.0.1:{free_port()}")
    finding = gateway_finding()

    assert finding.result == "wrong"
    assert "Connection refused" in finding.finding


@pytest.mark.usefixtures("services")
def test_the_command_reports_all_and_fails_if_something_is_wrong(
    heddle: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering({"/health": HEALTH}) as url:
        monkeypatch.setenv(LISTEN, url.removeprefix("http://"))
        code, out, _ = heddle("doctor", "--json")

    findings = json.loads(out)["findings"]
    assert code == 1, findings
    checks = {each["check"]: each["result"] for each in findings}
    for check in ("disk", "database", "ports", "services", "versions", "gateway"):
        assert checks[check] == "ok", check
    assert checks["models"] == "wrong"  # the stand-in does not list its connectors


@pytest.mark.usefixtures("services")
def test_the_command_prints_a_remedy_below_each_fault(
    heddle: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering({"/health": (404, {})}) as url:
        address = url.removeprefix("http://")
        monkeypatch.setenv(LISTEN, address)
        code, out, notes = heddle("doctor")

    assert (code, notes) == (1, "")
    assert out.splitlines()[-4:-1] == [
        f"wrong   gateway: {address} is no gateway of Heddle.",
        f"        → Stop that program, or choose another port with {LISTEN}.",
        "",
    ]
