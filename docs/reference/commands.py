"""The commands of `heddle`, from their help."""

from collections.abc import Iterator

import typer.main
from heddle_cli.app import app
from typer.testing import CliRunner

from docs.reference import markdown

_WIDTH = {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}


def commands() -> Iterator[tuple[str, ...]]:
    """Return the words of every command, groups before their commands."""

    def walk(path: tuple[str, ...], command: object) -> Iterator[tuple[str, ...]]:
        yield path
        for name, each in getattr(command, "commands", {}).items():
            yield from walk((*path, name), each)

    yield from walk((), typer.main.get_command(app))


def help_of(words: tuple[str, ...]) -> str:
    """Return what `heddle … --help` prints."""
    result = CliRunner().invoke(app, [*words, "--help"], prog_name="heddle", env=_WIDTH)
    return "\n".join(line.rstrip() for line in result.output.splitlines()).strip("\n")


def pages() -> dict[str, str]:
    """Return the page."""
    sections = [
        f"## {' '.join(['heddle', *words])}\n\n{markdown.block(help_of(words), 'text')}"
        for words in commands()
    ]
    introduction = "`heddle` is the operator's command. It calls the services by gRPC."
    return {"commands.md": markdown.page("Commands", introduction, *sections)}
