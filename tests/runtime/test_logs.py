"""`heddle_runtime.logs`, in a process of its own: it changes how a process logs."""

import json
import subprocess
import sys
from typing import Any

import pytest

SECRET = "sk-abcdefghijklmnop0123456789"
PROGRAM = f"""
import logging
import structlog
from heddle_runtime import logs
from heddle_runtime.call_metadata import CALLER, Caller

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


IN_A_LOOP = """
import asyncio
import os
import structlog
from heddle_runtime import logs

logs.configure("demo", "INFO")
log = structlog.get_logger("x")

async def main():
    log.info("first")
    log.info("second")
    os.write(2, b'{"event": "written in between"}\\n')
    await asyncio.sleep(0)
    log.info("third")
    log.error("fourth")
    os.write(2, b'{"event": "written after the error"}\\n')
    log.info("last")

asyncio.run(main())
log.info("after the loop")
"""


def test_lines_of_one_turn_are_written_together_and_errors_at_once() -> None:
    done = subprocess.run(  # noqa: S603 - the program above
        [sys.executable, "-c", IN_A_LOOP], capture_output=True, check=True, timeout=30
    )

    assert [json.loads(line)["event"] for line in done.stderr.splitlines()] == [
        "written in between",
        "first",
        "second",
        "third",
        "fourth",
        "written after the error",
        "last",
        "after the loop",
    ]


ENDED = """
import sys
import structlog
from heddle_runtime import logs
from heddle_runtime.call_metadata import CALLER, Caller

logs.configure("demo", sys.argv[1])
for caller in (Caller("req_1"), Caller("")):
    CALLER.set(caller)
    structlog.get_logger("x").info("call", method="/a/b", code="OK", seconds=0.25)
    logs.ended("call", "/a/b", "OK", 0.25)
"""


@pytest.mark.parametrize(("level", "written"), [("INFO", 4), ("WARNING", 0)])
def test_the_short_way_writes_the_same_line(level: str, written: int) -> None:
    done = subprocess.run(  # noqa: S603 - the program above
        [sys.executable, "-c", ENDED, level], capture_output=True, check=True, timeout=30
    )

    found = [json.loads(line) for line in done.stderr.splitlines()]
    assert len(found) == written
    for line in found:
        assert line.pop("timestamp").endswith("Z")
    assert found[:1] == found[1:2]
    assert found[2:3] == found[3:]
