"""Where clients find each service, one setting per service, and the port it listens on by default.

A service listens at `HEDDLE_<SERVICE>_LISTEN`. All of its clients find it at
`HEDDLE_<SERVICE>_ADDRESS`, whichever service or command they belong to.
"""

from typing import Annotated

from pydantic import Field

ORCHESTRATOR = "127.0.0.1:9101"
TOOLS = "127.0.0.1:9102"
CONNECTOR = "127.0.0.1:9103"
ASSISTANTS = "127.0.0.1:9104"
KNOWLEDGE = "127.0.0.1:9105"
MIGRATION = "127.0.0.1:9106"

OrchestratorAddress = Annotated[
    str,
    Field(
        validation_alias="HEDDLE_ORCHESTRATOR_ADDRESS",
        description="Address of the orchestrator: host:port.",
    ),
]
ToolsAddress = Annotated[
    str,
    Field(
        validation_alias="HEDDLE_TOOLS_ADDRESS",
        description="Address of the tools service: host:port.",
    ),
]
ConnectorAddress = Annotated[
    str,
    Field(
        validation_alias="HEDDLE_CONNECTOR_ADDRESS",
        description="Address of the connector service: host:port.",
    ),
]
AssistantsAddress = Annotated[
    str,
    Field(
        validation_alias="HEDDLE_ASSISTANTS_ADDRESS",
        description="Address of the assistants service: host:port.",
    ),
]
KnowledgeAddress = Annotated[
    str,
    Field(
        validation_alias="HEDDLE_KNOWLEDGE_ADDRESS",
        description="Address of the knowledge service: host:port.",
    ),
]
MigrationAddress = Annotated[
    str,
    Field(
        validation_alias="HEDDLE_MIGRATION_ADDRESS",
        description="Address of the migration service: host:port.",
    ),
]
