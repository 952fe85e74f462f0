"""Runs tests in forks of the process that has collected them: `pytest --forks=4`.

To load and collect all tests takes 13 seconds of a processor, which workers of pytest-xdist spend
each. A fork has them at once. Each fork runs tests that follow each other, so that few forks set up
the same fixture of a module; a fork that has run its own takes half of the longest rest.
"""

import ctypes
import io
import itertools
import os
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections import deque
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NoReturn

import pytest
from memory import memory

FOLDER = "TEST_FORKS"
"""The variable with the folder that the forks share, which goes after them."""
_PARENT_DEATH_SIGNAL = 1
"""An option of prctl(2)."""
_AT_ONCE = 4
"""How many tests a fork gets at once."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--forks", type=int, default=0, help="run the tests in so many forks")


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in forks if the command line asks for them."""
    config = session.config
    if not config.getoption("--forks") or config.option.collectonly:
        return None
    if session.testsfailed and not config.option.continue_on_collection_errors:
        raise session.Interrupted(f"{session.testsfailed} errors during collection")
    # Short: the names of sockets in the folders of tests have at most 107 characters.
    folder = Path(tempfile.mkdtemp(prefix="t", dir=memory()))
    os.environ[FOLDER] = str(folder)
    _Forks(session, folder).run(config.getoption("--forks"))
    if not session.testsfailed:  # what failed tests have written stays
        shutil.rmtree(folder, ignore_errors=True)
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
    return True


@dataclass
class _Fork:
    """A process that runs tests, which are numbered as they were collected."""

    pid: int
    connection: Connection
    rest: list[int]
    """What it shall run later."""
    queue: deque[int] = field(default_factory=deque)
    """What it runs next, and has not reported."""


class _Forks:
    """Hands out tests to forks, and reports how they end."""

    def __init__(self, session: pytest.Session, folder: Path) -> None:
        self._session = session
        self._folder = folder
        self._forks: list[_Fork] = []
        self._numbers = itertools.count()

    def run(self, count: int) -> None:
        """Run all tests in `count` forks."""
        total = len(self._session.items)
        try:
            for number in range(count):
                first, end = (total * each // count for each in (number, number + 1))
                self._start(list(range(first, end)))
            while self._forks:
                ready = wait([fork.connection for fork in self._forks])
                for fork in [each for each in self._forks if each.connection in ready]:
                    self._receive(fork)
        finally:
            for fork in self._forks:
                os.kill(fork.pid, signal.SIGKILL)
                os.waitpid(fork.pid, 0)

    def _start(self, tests: list[int]) -> None:
        number = next(self._numbers)
        ours, theirs = Pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # LanceDB warns of forks while it works
            pid = os.fork()
        if not pid:
            ours.close()
            _run(self._session, theirs, self._folder / str(number))
        theirs.close()
        self._forks.append(_Fork(pid, ours, tests))

    def _receive(self, fork: _Fork) -> None:
        """Take the reports of a test, none of them at the start, and answer with further tests."""
        try:
            reports = fork.connection.recv()
        except EOFError:
            self._end(fork)
            return
        if reports:
            self._report(fork.queue.popleft(), reports)
        more = [] if len(fork.queue) > 1 else self._more(fork)
        fork.queue.extend(more)
        fork.connection.send(more)

    def _more(self, fork: _Fork) -> list[int]:
        if self._session.shouldfail or self._session.shouldstop:
            return []
        if not fork.rest:
            longest = max(self._forks, key=lambda other: len(other.rest))
            middle = len(longest.rest) // 2
            longest.rest, fork.rest = longest.rest[:middle], longest.rest[middle:]
        more, fork.rest = fork.rest[:_AT_ONCE], fork.rest[_AT_ONCE:]
        return more

    def _report(self, number: int, reports: list[dict[str, Any]]) -> None:
        config, item = self._session.config, self._session.items[number]
        config.hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for data in reports:
            report = config.hook.pytest_report_from_serializable(config=config, data=data)
            config.hook.pytest_runtest_logreport(report=report)
        config.hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _end(self, fork: _Fork) -> None:
        """Let another fork go on if this one has died in a test."""
        self._forks.remove(fork)
        fork.connection.close()
        _, status = os.waitpid(fork.pid, 0)
        if status and not fork.queue:
            raise ChildProcessError(f"A fork ended with {status} outside of a test.")
        if fork.queue:
            item = self._session.items[fork.queue.popleft()]
            text = f"The process of the test ended with {os.waitstatus_to_exitcode(status)}."
            report = pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")
            self._session.config.hook.pytest_runtest_logreport(report=report)
            self._start([*fork.queue, *fork.rest])


class _Reports:
    """The reports of the test that runs."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.reports: list[dict[str, Any]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        to_data = self._config.hook.pytest_report_to_serializable
        self.reports.append(to_data(config=self._config, report=report))


def _run(session: pytest.Session, connection: Connection, folder: Path) -> NoReturn:
    """Run tests until no more come, and end the process."""
    code = 1
    try:
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        folder.mkdir()
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(folder)
        plugins = session.config.pluginmanager
        plugins.unregister(name="terminalreporter")
        silent = pytest.TerminalReporter(session.config, io.StringIO())
        silent.pytest_sessionstart(session)
        plugins.register(silent, "terminalreporter")
        capture: Any = plugins.getplugin("capturemanager")
        capture.stop_global_capturing()  # its files are those of the parent
        capture.start_global_capturing()
        _run_queue(session, connection)
        code = 0
    except BaseException:  # noqa: BLE001 - this process must not go on as its parent does
        traceback.print_exc(file=sys.__stderr__)
    finally:
        os._exit(code)


def _run_queue(session: pytest.Session, connection: Connection) -> None:
    hook = session.config.hook
    recorder = _Reports(session.config)
    session.config.pluginmanager.register(recorder)
    queue: deque[int] = deque()
    while True:
        connection.send(recorder.reports)
        queue.extend(connection.recv())
        if not queue:
            return
        recorder.reports = []
        item = session.items[queue.popleft()]
        # Fixtures that the next test does not need are torn down.
        following = session.items[queue[0]] if queue else None
        hook.pytest_runtest_protocol(item=item, nextitem=following)
