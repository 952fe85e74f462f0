"""`psql`, kept open: to start it costs more than what it is asked to do."""

import subprocess
from dataclasses import dataclass

# What it prints after each statement: whether that failed, and why.
_REPORT = "\\echo :ERROR :LAST_ERROR_MESSAGE\n"


@dataclass(frozen=True)
class Console:
    """A program that runs statements until it is closed."""

    process: "subprocess.Popen[str]"

    def run(self, statement: str) -> None:
        """Run a statement that has no result.

        Raises:
            RuntimeError: It failed.
        """
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{statement};\n{_REPORT}")
        self.process.stdin.flush()
        failed, _, reason = self.process.stdout.readline().partition(" ")
        if failed != "false":
            raise RuntimeError(f"{statement}: {reason.strip() or 'psql ended'}")

    def close(self) -> None:
        """End the program."""
        self.process.communicate("\\quit\n")


def console(program: str, url: str) -> Console:
    """Open `program`, which is a `psql`, on a database."""
    return Console(
        subprocess.Popen(  # noqa: S603 - a program of our own
            [program, "--no-psqlrc", "--quiet", url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # the report tells it
            text=True,
        )
    )
