"""Runs tests in forks of the process that has collected them: `pytest --forks=4`.

To load and collect all tests takes 13 seconds of a processor, which workers of pytest-xdist spend
each. A fork has them at once. A fork takes one file after the other, so that only one sets up the
fixtures of a module. Folders of tests that start no process come last, so that all forks end at
about the same time. Then one fork runs the tests that are marked `alone`.
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
from collections.abc import Iterator, Sequence
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
_LAST = ("tests/boundaries/", "tests/connector/", "tests/conversion/")
"""Folders whose tests take milliseconds."""


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
    rest: deque[int] = field(default_factory=deque)
    """What it shall run later."""
    queue: deque[int] = field(default_factory=deque)
    """What it runs, and has not reported, and the test after it."""


class _Forks:
    """Hands out tests to forks, and reports how they end."""

    def __init__(self, session: pytest.Session, folder: Path) -> None:
        self._session = session
        self._folder = folder
        self._forks: list[_Fork] = []
        self._numbers = itertools.count()
        self._files: deque[deque[int]] = deque()

    def run(self, count: int) -> None:
        """Run all tests in `count` forks, and those that nothing may run beside in one."""
        try:
            for files, forks in zip(_by_file(self._session.items), (count, 1), strict=True):
                self._files = files
                self._run(forks if files else 0)
        finally:
            for fork in self._forks:
                os.kill(fork.pid, signal.SIGKILL)
                os.waitpid(fork.pid, 0)

    def _run(self, count: int) -> None:
        for _ in range(count):
            self._start()
        while self._forks:
            ready = wait([fork.connection for fork in self._forks])
            for fork in [each for each in self._forks if each.connection in ready]:
                self._receive(fork)

    def _start(self) -> None:
        number = next(self._numbers)
        ours, theirs = Pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # LanceDB warns of forks while it works
            pid = os.fork()
        if not pid:
            ours.close()
            _run(self._session, theirs, self._folder / str(number))
        theirs.close()
        self._forks.append(_Fork(pid, ours))

    def _receive(self, fork: _Fork) -> None:
        """Take the reports of a test, none of them at the start, and answer with further tests."""
        try:
            reports = fork.connection.recv()
        except EOFError:
            self._end(fork)
            return
        if reports:
            self._report(fork.queue.popleft(), reports)
        more = list(itertools.islice(self._following(fork), 2 - len(fork.queue)))
        fork.queue.extend(more)
        fork.connection.send(more)

    def _following(self, fork: _Fork) -> Iterator[int]:
        while (fork.rest or self._files) and not (
            self._session.shouldfail or self._session.shouldstop
        ):
            fork.rest = fork.rest or self._files.popleft()
            yield fork.rest.popleft()

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
            if rest := deque([*fork.queue, *fork.rest]):
                self._files.appendleft(rest)
            self._start()


def _by_file(items: Sequence[pytest.Item]) -> tuple[deque[deque[int]], deque[deque[int]]]:
    """Return the numbers of the tests of each file: of those that may run together, and the others.

    The files have the order of the tests, but for `_LAST`.
    """
    together: dict[Path, deque[int]] = {}
    alone: dict[Path, deque[int]] = {}
    for number, item in enumerate(items):
        files = alone if item.get_closest_marker("alone") else together
        files.setdefault(item.path, deque()).append(number)
    ordered = sorted(
        together.values(), key=lambda numbers: items[numbers[0]].nodeid.startswith(_LAST)
    )
    return deque(ordered), deque(alone.values())


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
