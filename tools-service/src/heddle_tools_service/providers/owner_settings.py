"""The settings of the organisation that an assistant belongs to."""

import structlog
from heddle.account.v1 import account_pb2
from heddle_runtime.errors import HeddleError
from heddle_runtime.rpc.organization_settings import OrganizationSettings

from heddle_tools_service.sdk import Assistant, ToolUnavailableError

log = structlog.get_logger(__name__)


async def settings_of(
    settings: OrganizationSettings | None, assistant: Assistant, prefix: str
) -> account_pb2.ResolveSettingsResponse:
    """Return the settings of an assistant's organisation.

    Args:
        settings: Reads the settings. Without it, there are none and all assistants are the
            operator's.
        assistant: The assistant.
        prefix: The beginning of the error's message.

    Raises:
        ToolUnavailableError: The account service does not answer.
    """
    if settings is None:
        return account_pb2.ResolveSettingsResponse(system=True)
    try:
        return await settings.of(assistant.organization, assistant.owner)
    except HeddleError as error:
        log.error("settings unavailable", reason=error.reason)  # noqa: TRY400 - the other service is at fault
        raise ToolUnavailableError(
            f"{prefix} the organisation's settings are unavailable at the moment"
        ) from None
