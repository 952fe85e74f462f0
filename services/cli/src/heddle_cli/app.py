"""Assembles the `heddle` command."""

from importlib.metadata import version
from typing import Annotated

import typer
from heddle_runtime.serving.installed import installed

from heddle_cli.commands import (
    assistants,
    audit,
    backup,
    chat,
    collections,
    doctor,
    evaluate,
    explain,
    health,
    ingest,
    keys,
    mcp,
    models,
    organizations,
    people,
    search,
    token,
    tools,
    up,
    usage,
    users,
)
from heddle_cli.terminal import notes, out, plain


def _print_version(requested: bool) -> None:  # noqa: FBT001 - as typer calls it
    if requested:
        out.print(f"heddle {version('heddle-cli')}")
        raise typer.Exit


# `main` reports failures in one sentence, without a traceback.
app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def heddle(
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Operate Heddle: fill collections, list tools and models, ask assistants.

    Commands find each service at HEDDLE_<SERVICE>_ADDRESS, by default on this machine.
    """


app.command("up")(up.up)
app.command("ingest")(ingest.ingest)
app.command("search")(search.search)
app.command("chat")(chat.chat)
app.command("evaluate")(evaluate.evaluate)
app.command("explain")(explain.explain)
app.command("doctor")(doctor.doctor)
app.command("health")(health.health)
app.command("backup")(backup.backup)
app.command("restore")(backup.restore)
app.command("models")(models.models)
app.command("token")(token.token)
app.command("usage")(usage.usage)
app.add_typer(collections.app, name="collections")
app.add_typer(assistants.app, name="assistants")
app.add_typer(tools.app, name="tools")
app.add_typer(mcp.app, name="mcp")
app.add_typer(organizations.app, name="organizations")
app.add_typer(users.app, name="users")
app.add_typer(people.app, name="people")
app.add_typer(keys.app, name="keys")
app.add_typer(audit.app, name="audit")
for name, command in installed(
    "heddle.commands", lambda origin, problem: notes.print(f"Skipped {origin}: {plain(problem)}")
):
    app.command(name)(command)
