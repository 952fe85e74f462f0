"""The addresses of the services: one setting for each, with the default port.

A service listens at `HEDDLE_<SERVICE>_LISTEN`. All of its clients find it at
`HEDDLE_<SERVICE>_ADDRESS`, whichever service or command they belong to.
"""

import ipaddress
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from heddle_runtime.settings.service_address import parse

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
    """Return the description of the setting with the address of a service."""
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


Place = Literal["local", "cloud"]
Providers = Annotated[
    Place | None,
    Field(
        validation_alias="HEDDLE_PROVIDERS",
        description="Where models and the vector database are, unless the setting of one says "
        "otherwise: `local` for those that ship with Heddle, `cloud` for the servers that other "
        "settings name. The knowledge service and the tools service read it. Without it, each "
        "provider is in the cloud if its server is named.",
    ),
]
Listen = Annotated[str, Field(description="Where the server listens: host:port, or unix:/path.")]


def is_local(address: str) -> bool:
    """Return whether only this machine can reach `address`, or all addresses of a list."""
    if address.startswith("unix:"):
        return True
    entries = address.removeprefix("ipv4:").removeprefix("ipv6:").split(",")
    return all(_is_loopback(entry.strip()) for entry in entries)


def _is_loopback(address: str) -> bool:
    host = address.rpartition(":")[0].strip("[]")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
