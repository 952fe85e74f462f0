"""Reads the settings of organisations for the services that act for them."""

import structlog
from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.errors import UnavailableError
from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import bindparam, or_, select, text

from heddle_assistants.accounts.api_keys import OPEN
from heddle_assistants.accounts.organizations import COLUMNS, Organization, organization_reader
from heddle_assistants.accounts.resolution import RETENTION, resolved, retention_of
from heddle_assistants.accounts.secret_members import Config, opened
from heddle_assistants.database.encryption import Keys, UnreadableSecretError
from heddle_assistants.database.schema import organizations, users

# No parameter: those are the values that a caller of the query gives.
_IS_DEFAULT = organizations.c.slug == text(f"'{DEFAULT_ORGANIZATION}'")
log = structlog.get_logger(__name__)


class ResolvedSettings:
    """Finds, decrypts and reads settings."""

    def __init__(self, database: Database, keys: Keys) -> None:
        self._database = database
        self._keys = keys
        query = select(*COLUMNS).select_from(organizations)
        self._organization = organization_reader(database)
        of_user = (
            query.add_columns(users.c.id)
            .join(users, users.c.organization_id == organizations.c.id)
            .where(users.c.email == bindparam("email"))
        )
        self._of_home = database.row_reader(of_user.where(users.c.home))
        self._of_member = database.row_reader(
            of_user.where(organizations.c.slug == bindparam("slug"))
        )
        self._of_system = database.row_reader(
            # The imported one before the one that Heddle makes.
            query.where(or_(organizations.c.is_system, _IS_DEFAULT)).order_by(
                organizations.c.is_system.desc(), organizations.c.id
            )
        )

    async def of_owner(
        self, email: str, slug: str, *, reaching: bool
    ) -> pb.ResolveSettingsResponse:
        """Return the settings of a user's organisation, empty ones if there is none.

        Args:
            email: The address of the user.
            slug: The organisation that the user belongs to; if empty, the user's home.
            reaching: Whether to tell where its servers are and what opens them.
        """
        email = canonical_email(email)
        row = await (self._of_member(email, slug) if slug else self._of_home(email))
        if row is None:
            return await self._resolved(None, reaching=reaching)
        *columns, number = row
        response = await self._resolved(Organization(*columns), reaching=reaching)
        if response.organization:
            response.user_id = number
        return response

    async def of_organization(self, slug: str, *, reaching: bool) -> pb.ResolveSettingsResponse:
        """Return the settings of an organisation likewise."""
        return await self._resolved(await self._organization(slug), reaching=reaching)

    async def retention(self) -> list[pb.Retention]:
        """Return the retention limits of organisations; see `limits_of_organizations`."""
        return await limits_of_organizations(self._database)

    async def _resolved(
        self, organization: Organization | None, *, reaching: bool
    ) -> pb.ResolveSettingsResponse:
        if organization is None or organization.status not in OPEN:
            return resolved("", {}, {})  # nobody's: the answer tells nothing of what there is
        system: Config = {}
        if not organization.system and (row := await self._of_system()):
            system = Organization(*row).settings  # its secrets stay sealed
        own = self._opened(organization) if reaching else organization.settings
        response = resolved(organization.slug, own, system, reaching=reaching)
        response.system = organization.system
        return response

    def _opened(self, organization: Organization) -> Config:
        try:
            return opened(organization.settings, self._keys, organization.slug)
        except UnreadableSecretError as error:
            log.error(  # noqa: TRY400 - the key is at fault, a traceback says nothing
                "settings are sealed with another key",
                organization=organization.slug,
                cause=str(error),
            )
            raise UnavailableError(
                f"The settings of the organisation {organization.slug!r} cannot be decrypted: "
                "HEDDLE_ASSISTANTS_ENCRYPTION_KEY is not what they were encrypted with."
            ) from None


async def limits_of_organizations(database: Database) -> list[pb.Retention]:
    """Return the retention limits of the organisations that have any, by slug."""
    with_setting = organizations.c.config.contains(f'"{RETENTION}"')
    query = select(*COLUMNS).where(with_setting).order_by(organizations.c.slug)
    async with database.reading() as connection:
        stored = [Organization(*row) for row in await connection.execute(query)]
    return list(filter(None, (retention_of(each.slug, each.settings) for each in stored)))
