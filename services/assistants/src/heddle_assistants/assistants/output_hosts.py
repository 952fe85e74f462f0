"""Where answers of an organisation's assistants may link."""

from heddle_runtime.identity import DEFAULT_ORGANIZATION

from heddle_assistants.accounts.organizations import organization_reader
from heddle_assistants.accounts.resolution import output_hosts
from heddle_assistants.database.engine import Database


class OutputHosts:
    """Finds the setting of organisations."""

    def __init__(self, database: Database) -> None:
        self._organization = organization_reader(database)

    async def of(self, slug: str) -> str:
        """Return the hosts as the organisation has set them, empty if it has not."""
        organization = await self._organization(slug or DEFAULT_ORGANIZATION)
        return output_hosts(organization.settings) if organization else ""
