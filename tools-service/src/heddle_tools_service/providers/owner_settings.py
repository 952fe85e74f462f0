"""What the organisation of an assistant has set up."""

import structlog
from heddle.account.v1 import account_pb2
from heddle_runtime.errors import HeddleError
from heddle_runtime.organization_settings import OrganizationSettings

from heddle_tools_service.sdk import Assistant, ToolUnavailableError

log = structlog.get_logger(__name__)


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
