"""`heddle_runtime.telemetry.logs`, in a process of its own: it changes how a process logs."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from heddle_runtime.telemetry import logs

SECRET = "sk-abcdefghijklmnop0123456789"
PROGRAM = f"""
import logging
import structlog
from heddle_runtime.telemetry import logs
from heddle_runtime.identity.call_metadata import CALLER, Caller

logs.configure("demo", "INFO")
CALLER.set(Caller("req_1"))
log = structlog.get_logger("x")
log.debug("unseen")
log.info("call", method="/a/b", note="key {SECRET}", api_key="whatever", count=3)
logging.getLogger("library").warning("sent %s", "{SECRET}")
try:
    raise ValueError("postgresql://heddle:s3cret@db/heddle")
except ValueError:
    log.exception("failed")
"""


def lines() -> list[dict[str, Any]]:
    done = subprocess.run(  # noqa: S603 - the program above
        [sys.executable, "-c", PROGRAM], capture_output=True, check=True, timeout=30
    )
    return [json.loads(line) for line in done.stderr.splitlines()]


def test_every_line_is_json_tied_to_the_request_and_without_secrets() -> None:
    call, library, failure = lines()

    assert call["event"] == "call"
    assert call["count"] == 3
    assert call["note"] == "key [redacted]"
    assert call["api_key"] == "[redacted]"
    assert library["event"] == "sent [redacted]"
    assert library["level"] == "warning"
    assert "Traceback" in failure["exception"]
    assert "s3cret" not in failure["exception"]
    assert {line["request_id"] for line in (call, library, failure)} == {"req_1"}
    assert {line["service"] for line in (call, library, failure)} == {"demo"}


ENDED = """
import sys
import structlog
from heddle_runtime.telemetry import log_fields, logs
from heddle_runtime.identity.call_metadata import CALLER, Caller, caller
from heddle_runtime.identity.callers import Identity
from heddle_runtime.telemetry.log_fields import LogFields

logs.configure("demo", sys.argv[1])
for each in (Caller("req_1"), Caller("")):
    CALLER.set(each)
    structlog.get_logger("x").info("call", method="/a/b", code="OK", seconds=0.25)
    logs.ended("call", "/a/b", "OK", 0.25)

ann = Identity("ann@example.org", "school", key_id="k")
CALLER.set(Caller("req_2", ann, f"00-{'a' * 32}-b-01"))
fields = LogFields("1", "c/m", ["t", "sk-abcdefghijklmnop0123456789"], 503, "tool", "TOOL_FAILED")
members = log_fields.members(fields, caller())
structlog.get_logger("x").warning("call", method="/a/b", code="OK", seconds=0.25, **members)
logs.ended("call", "/a/b", "OK", 0.25, fields)
"""


@pytest.mark.parametrize(("level", "written"), [("INFO", 6), ("WARNING", 2), ("ERROR", 0)])
def test_ended_writes_the_same_line_as_structlog(level: str, written: int) -> None:
    done = subprocess.run(  # noqa: S603 - the program above
        [sys.executable, "-c", ENDED, level], capture_output=True, check=True, timeout=30
    )

    written_lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert len(written_lines) == written
    for line in written_lines:
        assert line.pop("timestamp").endswith("Z")
    assert written_lines[::2] == written_lines[1::2]
    if written_lines:
        last = written_lines[-1]
        assert last["actor"].startswith("user-")
        assert (last["level"], last["trace_id"]) == ("warning", "a" * 32)
        assert last["tools"] == ["t", "[redacted]"]


SINKS = """
import logging, sys, threading, warnings
own = logging.getLogger("with.own.handler")
own.addHandler(logging.StreamHandler(sys.stderr))
own.propagate = False
import structlog
from heddle_runtime.telemetry import logs
from heddle_runtime.redaction import register_secrets
from pydantic import BaseModel, SecretStr


class Settings(BaseModel):
    key: SecretStr = SecretStr("magpie-river-99")


settings = Settings()
log = structlog.get_logger("x")
logs.configure("demo", "INFO")
log.info("before magpie-river-99")
register_secrets(settings)
secret = settings.key.get_secret_value()
log.info("before " + secret)
log.info("sink", nested={"a": [secret]}, url="https://x/?q=" + secret, mail="ann@example.org")
own.error("sink %s", secret)
logging.getLogger("extra").error("sink", extra={"headers": {"x-api-key": secret}})
logging.getLogger("sink").error("sink", exc_info=ValueError("sink " + secret))
warnings.warn("sink " + secret)
log.info("sink", long="a" * 15_000 + secret + "b" * 15_000 + " the end")


class Unraisable:
    def __del__(self):
        raise ValueError("sink " + secret)


Unraisable()


def fail(message):
    try:
        raise KeyError(message)
    except KeyError as error:
        raise ValueError("sink") from error


thread = threading.Thread(target=fail, args=["sink " + secret])
thread.start()
thread.join()
fail(secret)
"""


def test_no_way_to_stderr_shows_a_registered_secret() -> None:
    done = subprocess.run(  # noqa: S603 - the program above
        [sys.executable, "-c", SINKS], capture_output=True, check=False, timeout=30
    )

    first, *others = [json.loads(line) for line in done.stderr.splitlines()]
    assert done.returncode == 1
    assert first["event"] == "before magpie-river-99"
    assert others[0]["event"] == "before [redacted]"
    assert len(others) == 10
    for line in others[1:]:
        assert "magpie" not in json.dumps(line)
        assert "[redacted]" in json.dumps(line) or "left out" in line["long"]
    assert others[1]["mail"] == "[redacted]"
    [long] = [line["long"] for line in others if "long" in line]
    assert len(long) < 21_000
    assert long.endswith(" the end")
    assert sum("Traceback" in line.get("exception", "") for line in others) == 3


def test_a_terminal_beside_the_log_shows_in_sentences_why_the_process_cannot_start(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(logs, "_terminal", None)
    logs.tell(terminal)
    problems = [{"setting": "HEDDLE_LISTEN", "problem": "Input is wrong"}, {"problem": "No disk."}]
    with pytest.raises(SystemExit):
        logs.cannot_start("test", problems)
    assert terminal.getvalue() == (
        "Heddle cannot start. HEDDLE_LISTEN: Input is wrong\nHeddle cannot start. No disk.\n"
    )
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_a_large_log_is_renamed_and_all_errors_go_to_the_new_one(tmp_path: Path) -> None:
    script = f"""
import os, sys
from pathlib import Path
from heddle_runtime.telemetry import log_file
path = Path({str(tmp_path / "logs" / "heddle.log")!r})
terminal = log_file.use(path)
sys.stderr.write("one\\n")
log_file.rotate(path, 100)
os.write(2, b"two\\n")
log_file.rotate(path, 1)
os.system("echo three >&2")
terminal.write("four\\n")
"""
    ended = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert (ended.stdout, ended.stderr) == ("", "four\n")
    assert (tmp_path / "logs/heddle.log.1").read_text() == "one\ntwo\n"
    assert (tmp_path / "logs/heddle.log").read_text() == "three\n"
    assert (tmp_path / "logs/heddle.log").stat().st_mode & 0o077 == 0
