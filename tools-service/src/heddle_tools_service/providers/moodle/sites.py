"""Whose Moodle an assistant may ask, and for whom."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from heddle_runtime.identity import DEFAULT_ORGANIZATION
from heddle_runtime.organization_settings import OrganizationSettings
from heddle_runtime.remote_json import server_address

from heddle_tools_service.providers.moodle.rest import MoodleSite
from heddle_tools_service.providers.owner_settings import settings_of
from heddle_tools_service.sdk import Assistant, Caller, ToolError

CONFIGURATION_ERROR = "Moodle configuration error:"
NOT_CONFIGURED = "MOODLE_API_URL or MOODLE_TOKEN not configured"
"""LAMB's sentence, which its users know."""
_REMEDY = (
    "Set moodle, with url and token, in the settings of the organisation; for the assistants of "
    "whoever runs the installation, set HEDDLE_TOOLS_MOODLE_URL and HEDDLE_TOOLS_MOODLE_TOKEN."
)


SiteOf = Callable[[Assistant, Caller], Awaitable[MoodleSite]]
"""Tells which Moodle an assistant asks for a caller; raises ToolError if there is none for it."""


@dataclass(frozen=True, slots=True)
class OwnerSites:
    """Looks it up in the settings of the organisation that the assistant belongs to."""

    settings: OrganizationSettings
    operators: MoodleSite | None
    """The site that the service's own settings name; for the operator's organisation alone."""

    async def __call__(self, assistant: Assistant, caller: Caller) -> MoodleSite:
        """Return the Moodle of `assistant` if `caller` is of the organisation that has it.

        Raises:
            ToolError: There is none, or it is another organisation's.
            ToolUnavailableError: The settings cannot be had.
        """
        settings = await settings_of(self.settings, assistant, CONFIGURATION_ERROR)
        organization = settings.organization or DEFAULT_ORGANIZATION
        at_home = caller.organization or DEFAULT_ORGANIZATION
        # Keys speak for the people of their own organisation, and their addresses prove nothing
        # to another one's Moodle.
        if at_home != organization and not (settings.system and at_home == DEFAULT_ORGANIZATION):
            raise ToolError(
                f"{CONFIGURATION_ERROR} the assistant is another organisation's, whose Moodle "
                "tells you nothing",
                kind="other_organization",
            )
        if settings.HasField("moodle") and settings.moodle.url and settings.moodle.token:
            try:
                return MoodleSite(
                    server_address(settings.moodle.url),
                    settings.moodle.token,
                    guarded=not settings.system,
                )
            except ValueError as error:
                raise ToolError(
                    f"{CONFIGURATION_ERROR} the address in the organisation's settings {error}"
                ) from None
        return configured(self.operators if settings.system else None)


def configured(site: MoodleSite | None) -> MoodleSite:
    """Return `site`.

    Raises:
        ToolError: There is none.
    """
    if site is None:
        raise ToolError(NOT_CONFIGURED, kind="not_configured", details={"remedy": _REMEDY})
    return site
