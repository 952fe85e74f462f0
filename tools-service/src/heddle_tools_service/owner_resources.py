"""What belongs to the owners of assistants, as far as other services know it."""

from dataclasses import dataclass

from heddle_runtime.organization_settings import Channel, OrganizationSettings, account_stub
from heddle_runtime.service_credentials import ServiceCredentials

from heddle_tools_service.providers.files import NumberOf, no_number
from heddle_tools_service.providers.moodle.rest import MoodleSite
from heddle_tools_service.providers.moodle.sites import OwnerSites, SiteOf, configured
from heddle_tools_service.providers.rubric_client import RubricClient, RubricLibrary
from heddle_tools_service.providers.rubrics import RubricFolder
from heddle_tools_service.sdk import Assistant, Caller


@dataclass(frozen=True, slots=True)
class OwnerResources:
    """The ways to find out."""

    number_of: NumberOf
    rubrics: RubricLibrary | RubricFolder
    site_of: SiteOf
    settings: OrganizationSettings | None
    """What organisations have set up; None if nobody keeps it."""


def known_to(
    accounts: Channel,
    acting: ServiceCredentials,
    *,
    rubrics: RubricFolder,
    moodle: MoodleSite | None,
) -> OwnerResources:
    """Return what the service that keeps accounts, rubrics and LAMB's registry knows.

    Args:
        accounts: A way to it.
        acting: The tool service's own name.
        rubrics: Those of the operator's folder.
        moodle: The Moodle that the operator has set up.
    """
    settings = OrganizationSettings(account_stub(accounts), acting)
    return OwnerResources(
        settings.number,
        RubricLibrary(RubricClient(accounts, acting), rubrics),
        OwnerSites(settings, moodle),
        settings,
    )


def known_to_nobody(rubrics: RubricFolder, moodle: MoodleSite | None) -> OwnerResources:
    """Return what is left where there is no such service: everything is the operator's."""

    async def site_of(_: Assistant, __: Caller) -> MoodleSite:
        return configured(moodle)

    return OwnerResources(no_number, rubrics, site_of, None)
