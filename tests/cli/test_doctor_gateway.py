"""`heddle doctor` and a gateway: what it asks over HTTP, and what it prints."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Run
from cli.findings import results
from heddle_cli.doctor.gateway import Gateway, gateway_findings, gateway_models, gateway_reports
from heddle_cli.doctor.services import Models, service_findings

REMEDY = "Set HEDDLE_GATEWAY_API_KEY to a key of this gateway, as of `heddle keys create`."


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each check in an empty folder, without settings."""
    for name in [each for each in os.environ if each.startswith("HEDDLE_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@contextmanager
def answering(pages: dict[str, tuple[int, Any]], date: float | None = None) -> Iterator[str]:
    """Serve pages by path, with a time; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, members = pages.get(self.path, (404, {}))
            body = json.dumps(members).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def date_time_string(self, timestamp: float | None = None) -> str:
            return formatdate(date, usegmt=True)

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
ME = (200, {"subject": "ann"})
KEY = "hk_of_ann"
MODEL = Models("openai", debugging=False, count=1, problem="")


@pytest.mark.parametrize(
    ("pages", "key", "date", "expected"),
    [
        ({"/health": HEALTH, "/v1/me": ME}, KEY, None, ["ok", "ok", "ok"]),
        ({"/health": HEALTH, "/v1/me": (401, {})}, KEY, None, ["ok", "wrong", "ok"]),
        ({"/health": HEALTH, "/v1/me": (401, {})}, "", None, ["ok", "warning", "ok"]),
        ({"/health": HEALTH, "/v1/me": ME}, KEY, 1_000_000, ["ok", "ok", "wrong"]),
        ({"/health": (200, {"status": "UP"})}, KEY, None, ["wrong"]),
        ({"/health": (301, [])}, KEY, None, ["wrong"]),
    ],
)
def test_a_gateway_is_checked_over_http(
    pages: dict[str, tuple[int, Any]], key: str, date: float | None, expected: list[str]
) -> None:
    with answering(pages, date) as url:
        findings = results(gateway_findings(Gateway(url, key)))

    assert [result for result, _ in findings] == expected


def test_a_gateway_that_cannot_be_reached_is_reported() -> None:
    with answering({}) as url:
        without_tls = list(gateway_findings(Gateway(url.replace("http:", "https:"), KEY)))
    silent = list(gateway_findings(Gateway(url, KEY)))

    assert [each.result for each in (*without_tls, *silent)] == ["wrong", "wrong"]
    assert "TLS" in without_tls[0].finding
    assert "Connection refused" in silent[0].finding


def test_a_gateway_tells_operators_of_components_and_others_of_services() -> None:
    problem = {"name": "disk", "ready": False, "problem": "Full. Free it.", "summary": ""}
    known = {"problem": "", "components": [problem], "version": "1.0"}
    connector = {"name": "openai", "debugging": False, "models": [{}], "problem": None}
    with answering({"/health": HEALTH}) as url:
        [tools, knowledge] = gateway_reports(Gateway(url, KEY))
        assert gateway_models(Gateway(url, KEY)) == []
    assert (tools.ready, knowledge.ready) == (True, False)

    details = {"/health/details": (200, {"services": {"knowledge": known}})}
    with answering({**details, "/connectors": (200, {"connectors": [connector]})}) as url:
        [report] = gateway_reports(Gateway(url, KEY))
        assert gateway_models(Gateway(url, KEY)) == [MODEL]
    assert results(service_findings([report])) == [("wrong", "service knowledge, disk")]


@pytest.mark.usefixtures("services")
def test_the_command_reports_all_and_fails_if_something_is_wrong(
    heddle: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering({"/health": HEALTH, "/v1/me": ME}) as url:
        monkeypatch.setenv("HEDDLE_GATEWAY_LISTEN", url.removeprefix("http://"))
        code, out, _ = heddle("doctor", "--json")

    findings = json.loads(out)["findings"]
    assert code == 1, findings
    checks = {each["check"]: each["result"] for each in findings}
    for check in ("disk", "database", "ports", "services", "versions", "gateway", "clock"):
        assert checks[check] == "ok", check
    assert checks["models"] == "wrong"  # the stand-in does not list its connectors


def test_the_command_prints_a_remedy_below_each_fault(
    heddle: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDDLE_GATEWAY_API_KEY", KEY)
    with answering({"/health": (200, {"services": {"tools": True}}), "/v1/me": (401, {})}) as url:
        code, out, notes = heddle("doctor", "--gateway", url)

    assert (code, notes) == (1, "")
    assert out.splitlines() == [
        f"ok      gateway: {url} answers: None.",
        "wrong   API key: The gateway refuses the key.",
        f"        → {REMEDY}",
        "ok      clock: This machine and the gateway agree.",
        "ok      services: Ready: tools.",
        "ok      versions: All have 0.1.0.",
        "",
        "1 of 5 checks found something wrong.",
    ]
    assert KEY not in out


def test_an_address_that_is_none_is_refused(heddle: Run) -> None:
    code, _, notes = heddle("doctor", "--gateway", "heddle.example.org")

    assert code == 1
    assert "Write it as https://host.example.org." in notes
