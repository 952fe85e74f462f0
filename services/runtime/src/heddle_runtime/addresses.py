"""Where clients find each service, one setting per service, and the port it listens on by default.

A service listens at `HEDDLE_<SERVICE>_LISTEN`. All of its clients find it at
`HEDDLE_<SERVICE>_ADDRESS`, whichever service or command they belong to.
"""

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from heddle_runtime.service_address import parse

ORCHESTRATOR = "127.0.0.1:9101"
TOOLS = "127.0.0.1:9102"
CONNECTOR = "127.0.0.1:9103"
ASSISTANTS = "127.0.0.1:9104"
KNOWLEDGE = "127.0.0.1:9105"
MIGRATION = "127.0.0.1:9106"


def _checked(address: str) -> str:
    if ":" in address:  # others mean that there is no such service
        parse(address)
    return address


_VALID = AfterValidator(_checked)


def description(title: str) -> str:
    """Return what the address of a service may be."""
    return (
        f"Address of {title}: host:port, unix:/path, or host:port,host:port for replicas. "
        "All addresses of a name are replicas; names are looked up every two seconds."
    )


def _address(service: str, title: str) -> Any:  # noqa: ANN401 - as `Field` itself
    alias = f"HEDDLE_{service}_ADDRESS"
    return Field(validation_alias=alias, description=description(title))


OrchestratorAddress = Annotated[str, _address("ORCHESTRATOR", "the orchestrator"), _VALID]
ToolsAddress = Annotated[str, _address("TOOLS", "the tools service"), _VALID]
ConnectorAddress = Annotated[str, _address("CONNECTOR", "the connector service"), _VALID]
AssistantsAddress = Annotated[str, _address("ASSISTANTS", "the assistants service"), _VALID]
KnowledgeAddress = Annotated[str, _address("KNOWLEDGE", "the knowledge service"), _VALID]
MigrationAddress = Annotated[str, _address("MIGRATION", "the migration service"), _VALID]
