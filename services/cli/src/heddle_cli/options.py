"""Options that several commands share."""

from typing import Annotated, Any

import typer


def _address(service: str, name: str = "") -> Any:  # noqa: ANN401 - as `typer.Option`
    return typer.Option(
        f"--{service}-address",
        envvar=f"HEDDLE_{service.upper()}_ADDRESS",
        help=f"The address of the {name or f'{service} service'}: host:port, unix:/path, or "
        "several addresses of replicas, separated by commas.",
    )


ToolsAddress = Annotated[str, _address("tools")]
KnowledgeAddress = Annotated[str, _address("knowledge")]
OrchestratorAddress = Annotated[str, _address("orchestrator", "orchestrator")]
ConnectorAddress = Annotated[str, _address("connector")]
AssistantsAddress = Annotated[str, _address("assistants")]
MigrationAddress = Annotated[str, _address("migration")]
CollectionName = Annotated[str, typer.Option("--collection", help="The collection's name.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document, with the names that REST has.")
]
AsJsonLines = Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")]
