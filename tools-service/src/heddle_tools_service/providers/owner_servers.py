"""The knowledge-base server of an assistant's owner, out of the organisation's settings."""

from dataclasses import dataclass
from urllib.parse import urlsplit

import structlog
from heddle.account.v1 import account_pb2
from heddle_runtime.errors import HeddleError
from heddle_runtime.organization_settings import OrganizationSettings

from heddle_tools_service.providers.kb_server import CONFIGURATION_ERROR, KnowledgeServer
from heddle_tools_service.sdk import Assistant, ToolError, ToolUnavailableError

log = structlog.get_logger(__name__)


def server_address(url: str) -> str:
    """Return the address of a server without a slash at the end.

    Raises:
        ValueError: It is none. The message does not repeat it.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("must be an http or https address")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("must hold no credentials, query or fragment")
    return url.rstrip("/")


async def settings_of(
    settings: OrganizationSettings, assistant: Assistant, prefix: str
) -> account_pb2.ResolveSettingsResponse:
    """Return what the organisation that `assistant` belongs to has set up.

    Raises:
        ToolUnavailableError: It cannot be had; the message begins with `prefix`.
    """
    try:
        return await settings.of(assistant.organization, assistant.owner)
    except HeddleError as error:
        log.error("settings cannot be had", reason=error.reason)  # noqa: TRY400 - the other service is at fault
        raise ToolUnavailableError(
            f"{prefix} the organisation's settings cannot be had at the moment"
        ) from None


@dataclass(frozen=True, slots=True)
class OwnerServers:
    """Looks up whose server to ask. An organisation never gets to ask another one's."""

    settings: OrganizationSettings
    operators: KnowledgeServer | None
    """The server that the service's own settings name."""
    shared: bool
    """Whether every organisation without a server of its own may ask the operator's."""

    async def __call__(self, assistant: Assistant) -> KnowledgeServer | None:
        """Return the server of the organisation that `assistant` belongs to, if there is one.

        Raises:
            ToolError: What the organisation has set up is of no use.
            ToolUnavailableError: It cannot be had.
        """
        settings = await settings_of(self.settings, assistant, CONFIGURATION_ERROR)
        if settings.HasField("knowledge"):
            try:
                return KnowledgeServer(
                    server_address(settings.knowledge.url),
                    settings.knowledge.token,
                    guarded=not settings.system,
                )
            except ValueError as error:
                raise ToolError(
                    f"{CONFIGURATION_ERROR} the server in the organisation's settings {error}"
                ) from None
        return self.operators if settings.system or self.shared else None
