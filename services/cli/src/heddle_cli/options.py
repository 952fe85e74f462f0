"""Options that several commands share."""

from typing import Annotated

import typer

CollectionName = Annotated[str, typer.Option("--collection", help="The collection's name.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document, with the names that REST has.")
]
AsJsonLines = Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")]
