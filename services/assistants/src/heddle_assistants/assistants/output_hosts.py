"""The hosts to which answers of an organisation's assistants may link."""

from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION
from heddle_runtime.storage.database.engine import Database

from heddle_assistants.accounts.organizations import organization_reader
from heddle_assistants.accounts.resolution import output_hosts


class OutputHosts:
    """Reads the setting of organisations."""

    def __init__(self, database: Database) -> None:
        self._organization = organization_reader(database)

    async def of(self, slug: str) -> str:
        """Return the organisation's hosts, as it wrote them; empty if it has set none."""
        organization = await self._organization(slug or DEFAULT_ORGANIZATION)
        return output_hosts(organization.settings) if organization else ""
