"""Records which functions of the product the code of a test calls.

The variable MUTANTS_CALLS names the folder of the records. A line of one has a test, a file and the
line at which a function begins.
"""

import os
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).parents[2]
MEMBERS = {
    path.name: path
    for folder in ("gateway", "tools-service", "migration-service", "services/*")
    for path in ROOT.glob(f"{folder}/src/*")
    if path.is_dir() and path.name.startswith("heddle_")
}
"""The source folder of each member by the name of its package."""
_FOLDERS = tuple(f"{path}{os.sep}" for path in MEMBERS.values())
FOLDER = "MUTANTS_CALLS"
TEST = "MUTANTS_TEST"
"""The variable with the test that runs."""
called: dict[int, CodeType] = {}


def begin(*, write_at_once: bool) -> None:
    """Record the functions that this process calls, in all threads that start from now on."""
    trace = _write if write_at_once else _remember
    threading.settrace(trace)
    sys.settrace(trace)


def _remember(frame: FrameType, _event: str, _argument: Any) -> None:
    called[id(frame.f_code)] = frame.f_code


def _write(frame: FrameType, _event: str, _argument: Any) -> None:
    code = frame.f_code
    if id(code) not in called:
        called[id(code)] = code
        record([code], os.environ.get(TEST, ""))


def record(codes: list[CodeType], test: str) -> None:
    """Write what a test has called."""
    lines = [
        f"{test}\t{code.co_filename}\t{code.co_firstlineno}\n"
        for code in codes
        if code.co_filename.startswith(_FOLDERS)
    ]
    if lines and test:
        with (Path(os.environ[FOLDER]) / f"{os.getpid()}.calls").open("a") as file:
            file.writelines(lines)
