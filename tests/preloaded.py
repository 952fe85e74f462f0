"""Processes of Python modules that need not load Heddle and its libraries first.

A service spends most of its start on loading code. `start` forks a process from one that has
loaded it for the whole test run. The process then runs a module as `python -m` does, with an
environment, an output and a session of its own. Workers, whose memory is limited, are forked from
a second process, which has loaded only what they need.
"""

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import random
import runpy
import secrets
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_LIBRARIES = (
    "aiosqlite",
    "alembic.config",
    "argon2",
    "asyncpg",
    "google.rpc.error_details_pb2",
    "grpc_health.v1.health",
    "grpc_reflection.v1alpha.reflection",
    "httpx",
    "joserfc.jwt",
    "jsonschema_rs",
    "msgspec",
    "pydantic_settings",
    "re2",
    "sqlalchemy.dialects.sqlite",
    "sqlalchemy.ext.asyncio",
    "starlette.applications",
    "starlette.middleware.cors",
    "structlog",
    "typer",
    "typer.rich_utils",
    "uvicorn.protocols.http.httptools_impl",
    "uvloop",
    "yaml",
)
"""What services load when they start, without anything that starts a thread."""
_OUR_OWN = (
    "heddle_assistants",
    "heddle_cli",
    "heddle_connector",
    "heddle_gateway",
    "heddle_knowledge",
    "heddle_migration_service",
    "heddle_orchestrator",
    "heddle_tools_service",
)
_WORKERS = (
    "heddle_tools_service.plugin_process.fork_server",
    "heddle_knowledge.embedders.worker",
    "heddle_knowledge.pages.rendering_worker",
    "heddle_knowledge.reading.worker",
)
"""The modules that are forked from the second process."""
_SECRETS = (
    ("heddle_runtime.telemetry.log_fields", "_key"),
    ("heddle_assistants.repository.journal", "_PEPPER"),
)
"""The variables with keys that each process draws."""
_RUN = "heddle-tests-{}"
_WORKER_RUN = "heddle-tests-workers-{}"
_RETRY_SECONDS = 0.02
_START_SECONDS = 60.0
_BACKLOG = 128
_MOST_DESCRIPTORS = 8


class Process:
    """A started process, with the methods of `subprocess.Popen`."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._received = b""
        self.returncode: int | None = None
        while b"\n" not in self._received:
            self._receive(None)
        line, _, self._received = self._received.partition(b"\n")
        self.pid = int(line)

    def poll(self) -> int | None:
        """Return the exit code, or None while the process runs."""
        with contextlib.suppress(BlockingIOError):
            self._receive_exit_code(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code when the process has ended.

        Raises:
            subprocess.TimeoutExpired: It runs after `timeout` seconds.
        """
        try:
            self._receive_exit_code(timeout)
        except TimeoutError:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0) from None
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        # Without a poll, as another thread may wait for the exit code.
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _receive_exit_code(self, timeout: float | None) -> None:
        while self.returncode is None:
            self._receive(timeout)
            if self._received.endswith(b"\n"):
                self.returncode = int(self._received)
                self._connection.close()

    def _receive(self, timeout: float | None) -> None:
        self._connection.settimeout(timeout)
        piece = self._connection.recv(64)
        if not piece:
            self._connection.close()
            raise ConnectionError("The process that has loaded the libraries has ended.")
        self._received += piece


Started = Process | subprocess.Popen[bytes]


def start(
    module: str,
    environment: Mapping[str, str],
    output: int,
    cwd: Path | None = None,
    *,
    arguments: Sequence[str] = (),
    source: int | None = None,
    errors: int | None = None,
) -> Started:
    """Start a module in a process of its own.

    A process with a PYTHONPATH of its own loads its code anew.

    Args:
        module: Its name.
        environment: All variables of the process.
        output: The file descriptor that standard output goes to.
        cwd: Its folder, or None for the current one.
        arguments: Its arguments.
        source: The file descriptor that is its standard input, or None if it has none.
        errors: The file descriptor that standard error goes to, or None for `output`.
    """
    if environment.get("PYTHONPATH") != os.environ.get("PYTHONPATH"):
        return subprocess.Popen(  # noqa: S603 - our own modules
            [sys.executable, "-m", module, *arguments],
            env=environment,
            cwd=cwd,
            stdin=subprocess.DEVNULL if source is None else source,
            stdout=output,
            stderr=output if errors is None else errors,
            start_new_session=True,
        )
    with Path(os.devnull).open("rb") as nothing:
        descriptors = [
            nothing.fileno() if source is None else source,
            output,
            output if errors is None else errors,
        ]
        return _forked(
            _RUN, ["-m", module, *arguments], environment, cwd or Path.cwd(), descriptors
        )


def _worker(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    stdin: int,
    stdout: int = 1,
    pass_fds: Sequence[int] = (),
    start_new_session: bool,
) -> Started:
    """Start a worker as `subprocess.Popen` does."""
    options = command[2 : len(command) - len(pass_fds)]  # without the numbers of `pass_fds`
    if not ({*options} & {"-c", *_WORKERS}) or "PYTHONPATH" in env:
        return subprocess.Popen(  # noqa: S603 - our own modules
            command,
            env=env,
            stdin=stdin,
            stdout=stdout,
            pass_fds=pass_fds,
            start_new_session=start_new_session,
        )
    with Path(os.devnull).open("rb") as nothing:
        source = nothing.fileno() if stdin == subprocess.DEVNULL else stdin
        return _forked(_WORKER_RUN, options, env, Path.cwd(), [source, stdout, 2, *pass_fds])


def _forked(
    run: str,
    command: Sequence[str],
    environment: Mapping[str, str],
    cwd: Path,
    descriptors: Sequence[int],
) -> Process:
    """Fork a process that runs a module.

    Args:
        run: The name of the process to fork.
        command: What would follow `python`: `-m` and a module, or `-c` and code, and arguments.
        environment: All variables of the new process.
        cwd: Its folder.
        descriptors: Its standard streams. The numbers of those that follow become arguments.
    """
    mask = os.umask(0)
    os.umask(mask)
    request = {
        "command": list(command),
        "environment": dict(environment),
        "cwd": str(cwd),
        "umask": mask,
    }
    connection = _connected(run)
    socket.send_fds(connection, [b"\n"], descriptors)
    connection.sendall(json.dumps(request).encode())
    connection.shutdown(socket.SHUT_WR)
    return Process(connection)


def _connected(name: str) -> socket.socket:
    """Return a connection to the process that has loaded the libraries; start it if necessary."""
    name = name.format(os.environ["TEST_RUN"])  # the same for all of a test run
    connection = socket.socket(socket.AF_UNIX)
    if connection.connect_ex(_address(name)):
        os.posix_spawn(
            sys.executable,
            [sys.executable, "-P", __file__, name],
            # Workers inherit no secrets.
            {"TEST_RUN": os.environ["TEST_RUN"]} if _is_for_workers(name) else os.environ,
            # A shell would wait until the pipes close that this process has.
            file_actions=[(os.POSIX_SPAWN_OPEN, end, os.devnull, os.O_RDWR, 0) for end in range(3)],
            setsid=True,
        )
    else:
        return connection
    until = time.monotonic() + _START_SECONDS
    while connection.connect_ex(_address(name)):
        if time.monotonic() > until:
            raise ConnectionError("The process that loads the libraries does not start.")
        time.sleep(_RETRY_SECONDS)
    return connection


def _address(name: str) -> str:
    """Return an address that is not in the file system."""
    return f"\0{name}"


def _is_for_workers(name: str) -> bool:
    return name == _WORKER_RUN.format(os.environ["TEST_RUN"])


def _load(name: str) -> dict[str, str]:
    """Load the code, and return the variables that it has set for libraries such as gRPC."""
    before = dict(os.environ)
    if _is_for_workers(name):
        _load_workers()
    else:
        _load_services()
    gc.collect()
    gc.freeze()
    return {name: value for name, value in os.environ.items() if name not in before}


def _load_workers() -> None:
    os.environ["OMP_NUM_THREADS"] = "1"  # as the services set it: a library starts no threads
    for module in _WORKERS:
        importlib.import_module(module)
        del sys.modules[module]  # as below
    tls_context = importlib.import_module("heddle_runtime.http.guarded_http").tls_context
    tls_context()


def _load_services() -> None:
    # The package first: it sets variables that gRPC reads.
    import heddle_runtime  # noqa: F401, I001, PLC0415 - only this process needs it
    import heddle  # noqa: PLC0415 - as above

    for name in _LIBRARIES:
        importlib.import_module(name)
    for contract in pkgutil.walk_packages(heddle.__path__, "heddle."):
        importlib.import_module(contract.name)
    for package in _OUR_OWN:
        with contextlib.suppress(ModuleNotFoundError):  # a member that is not installed
            importlib.import_module(f"{package}.__main__")
            del sys.modules[f"{package}.__main__"]  # of which runpy would warn
    from heddle_runtime.http import guarded_http  # noqa: PLC0415 - as above

    guarded_http.tls_context()


def _serve(listener: socket.socket) -> dict[str, Any]:
    """Fork a process for each connection. In the process, return what it shall run."""
    with selectors.DefaultSelector() as selector, listener:
        selector.register(listener, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is not listener:
                    selector.unregister(key.fileobj)
                    _report(key.fd, *key.data)
                elif request := _fork(selector, listener):
                    return request


def _fork(selector: selectors.BaseSelector, listener: socket.socket) -> dict[str, Any]:
    """Fork a process; return its request in it, and nothing in the process that forks."""
    connection, _ = listener.accept()
    _, descriptors, _, _ = socket.recv_fds(connection, 1, _MOST_DESCRIPTORS)
    with connection.makefile("rb") as file:
        request: dict[str, Any] = json.load(file)
    if pid := os.fork():
        for descriptor in descriptors:
            os.close(descriptor)
        connection.sendall(f"{pid}\n".encode())
        selector.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, connection))
        return {}
    for key in selector.get_map().values():
        if key.data:
            os.close(key.fd)
            key.data[1].close()
    connection.close()
    for number, descriptor in enumerate(descriptors[:3]):
        os.dup2(descriptor, number)
        os.close(descriptor)
    request["command"] += map(str, descriptors[3:])
    return request


def _report(pidfd: int, pid: int, connection: socket.socket) -> None:
    """Tell who started a process how it has ended."""
    os.close(pidfd)
    _, status = os.waitpid(pid, 0)
    with connection, contextlib.suppress(OSError):
        connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def use_for_workers() -> None:
    """Let services of this process fork their workers, too."""
    for name in ("heddle_tools_service.workers.forking", "heddle_knowledge.workers.worker"):
        with contextlib.suppress(ModuleNotFoundError):  # a member that is not installed
            module: Any = importlib.import_module(name)
            module.subprocess = _Forking


class _Forking:
    """What services use of `subprocess`."""

    DEVNULL = subprocess.DEVNULL
    Popen = staticmethod(_worker)


def _draw_again() -> None:
    """Give this process random values of its own, as an import of the code would."""
    from heddle_runtime.settings import local_secret  # noqa: PLC0415 - as above

    for name in [each for each in sys.modules if each.startswith("heddle_")]:
        for value in [*vars(sys.modules[name]).values()]:
            if isinstance(value, random.Random):
                value.seed()
    for module, name in _SECRETS:
        setattr(sys.modules[module], name, secrets.token_bytes(32))
    local_secret.OF_THIS_PROCESS.__init__(secrets.token_urlsafe(48))  # type: ignore[misc] # services have the object


def _run(request: Mapping[str, Any], variables: Mapping[str, str]) -> None:
    os.setsid()
    os.umask(request["umask"])
    run = os.environ["TEST_RUN"]
    os.environ.clear()
    os.environ.update({"TEST_RUN": run, **variables, **request["environment"]})
    os.chdir(request["cwd"])
    sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    option, program, *arguments = request["command"]
    sys.argv = [program, *arguments]
    if option == "-c":
        exec(program, {"__name__": "__main__"})  # noqa: S102 - code of our own
    else:
        runpy.run_module(program, run_name="__main__", alter_sys=True)


def _main() -> None:
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(_address(sys.argv[1]))
    except OSError:
        return  # another process of this test run was faster
    listener.listen(_BACKLOG)
    variables = _load(sys.argv[1])
    request = _serve(listener)
    if not _is_for_workers(sys.argv[1]):
        _draw_again()
        use_for_workers()
    _run(request, variables)


if __name__ == "__main__":
    _main()
