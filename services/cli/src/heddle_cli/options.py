"""Options that several commands share."""

from typing import Annotated

import typer

TOOLS = "127.0.0.1:9102"
KNOWLEDGE = "127.0.0.1:9105"
ORCHESTRATOR = "127.0.0.1:9101"
CONNECTOR = "127.0.0.1:9103"
ASSISTANTS = "127.0.0.1:9104"
MIGRATION = "127.0.0.1:9106"

ToolsAddress = Annotated[
    str,
    typer.Option(
        "--tools-address", envvar="HEDDLE_TOOLS_ADDRESS", help="Where the tools service is."
    ),
]
KnowledgeAddress = Annotated[
    str,
    typer.Option(
        "--knowledge-address",
        envvar="HEDDLE_KNOWLEDGE_ADDRESS",
        help="Where the knowledge service is.",
    ),
]
OrchestratorAddress = Annotated[
    str,
    typer.Option(
        "--orchestrator-address",
        envvar="HEDDLE_ORCHESTRATOR_ADDRESS",
        help="Where the orchestrator is.",
    ),
]
ConnectorAddress = Annotated[
    str,
    typer.Option(
        "--connector-address", envvar="HEDDLE_CONNECTOR_ADDRESS", help="Where the connector is."
    ),
]
AssistantsAddress = Annotated[
    str,
    typer.Option(
        "--assistants-address",
        envvar="HEDDLE_ASSISTANTS_ADDRESS",
        help="Where the assistants service is.",
    ),
]
MigrationAddress = Annotated[
    str,
    typer.Option(
        "--migration-address",
        envvar="HEDDLE_MIGRATION_ADDRESS",
        help="Where the migration service is.",
    ),
]
CollectionName = Annotated[str, typer.Option("--collection", help="The collection's name.")]
