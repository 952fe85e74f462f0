"""Assembles the account service: its secrets, its store, its servicer."""

from heddle.account.v1 import account_pb2_grpc as pb_grpc
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.http.egress import Egress, EgressSettings
from heddle_runtime.identity.secrets import read_or_create_secret, split_secrets
from heddle_runtime.identity.setup_link import setup_secret
from heddle_runtime.serving.server import Binding, bind
from heddle_runtime.storage.database.address import SqliteAddress, parse
from heddle_runtime.storage.database.engine import Database
from pydantic import Field, SecretStr, field_validator

from heddle_assistants.accounts.addresses import Addresses
from heddle_assistants.accounts.api_keys import ApiKeys
from heddle_assistants.accounts.collections import Collections
from heddle_assistants.accounts.extension_texts import ExtensionTexts
from heddle_assistants.accounts.key_text import Peppers
from heddle_assistants.accounts.organizations import Organizations, reseal
from heddle_assistants.accounts.owner_organizations import create_default_organization
from heddle_assistants.accounts.provider_tests import ProviderTests
from heddle_assistants.accounts.resolved_settings import ResolvedSettings
from heddle_assistants.accounts.servicer import AccountServicer
from heddle_assistants.accounts.sign_in.first_operator import FirstOperator
from heddle_assistants.accounts.sign_in.limits import SignInLimits
from heddle_assistants.accounts.sign_in.password_hashes import PasswordHashes
from heddle_assistants.accounts.sign_in.passwords import Passwords
from heddle_assistants.accounts.sign_in.sessions import SessionLimits, Sessions
from heddle_assistants.accounts.sign_in.signing_in import SignIn
from heddle_assistants.accounts.user_list import UserList
from heddle_assistants.accounts.users import Users
from heddle_assistants.audit.log import AuditLog
from heddle_assistants.database.encryption import Keys
from heddle_assistants.other_services import OtherServices

SHORTEST = 32
PEPPER_FILE = ".pepper"
ENCRYPTION_FILE = ".encryption-key"


class AccountSettings(EgressSettings):
    """Settings of the account service, for `AssistantsSettings` to inherit."""

    key_pepper: SecretStr | None = Field(
        default=None,
        description="The secret that the digests of API keys are made with. To change it, write "
        "the new one and the former one with a comma between; a key gets the new one when it is "
        "used, and `heddle keys list --former-pepper` shows the others. Without this setting, the "
        "secret is generated in a file beside the SQLite database that ends in "
        f"{PEPPER_FILE}. PostgreSQL needs it.",
    )
    encryption_key: SecretStr | None = Field(
        default=None,
        description="The secret that encrypts secrets in organisations' settings. To change it, "
        "write the new one and the former one with a comma between; after a start the former one "
        "may go. Several replicas need one more step before: restart each with the former one, a "
        "comma and the new one, so that all can read what the first replica encrypts anew. Without "
        "this setting, the secret is generated in a file beside the SQLite database that ends in "
        f"{ENCRYPTION_FILE}. PostgreSQL needs it.",
    )

    secrets_lost: bool = Field(
        default=False,
        description="Start although the pepper of API keys or the encryption key of secrets is "
        "missing. These keys are refused and these secrets cannot be used.",
    )

    session_idle_minutes: int = Field(
        default=480,
        ge=5,
        le=525_600,
        description="Minutes after which a session of a user ends that sends no request.",
    )
    session_hours: int = Field(
        default=168,
        ge=1,
        le=8_760,
        description="Hours after which a session of a user ends in any case.",
    )
    operators: tuple[str, ...] = Field(
        default=(),
        description="E-mail addresses of users who may do everything when they sign in to the "
        "operator's organisation, as a JSON array. Only operators can set their passwords.",
    )

    @field_validator("operators")
    @classmethod
    def _canonical(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(canonical_email(each) for each in value)

    @field_validator("encryption_key", "key_pepper")
    @classmethod
    def _refuse_short_keys(cls, value: SecretStr | None) -> SecretStr | None:
        if value and any(len(text) < SHORTEST for text in split_secrets(value.get_secret_value())):
            raise ValueError(f"each key must have {SHORTEST} characters or more")
        return value


async def account_service(
    database: Database,
    audit: AuditLog,
    url: str,
    settings: AccountSettings,
    services: OtherServices | None = None,
) -> Binding:
    """Return the account service of an open database at `url`.

    Providers are tested by one of `services`.

    Raises:
        ValueError: A secret is missing: a setting with PostgreSQL, or one that stored keys and
            secrets need.
        OSError: A file with a secret cannot be read or made.
    """
    keys = encryption_keys(url, settings)
    peppers = _peppers(url, settings)
    api_keys = ApiKeys(database, audit, peppers)
    if not settings.secrets_lost:
        await api_keys.require_peppers()
    await create_default_organization(database)
    await reseal(database, keys, refuse=not settings.secrets_lost)
    organizations = Organizations(database, audit, keys)
    users = Users(database, audit)
    sessions = Sessions(
        database,
        peppers,
        SessionLimits(
            settings.session_idle_minutes * 60,
            settings.session_hours * 3600,
            frozenset(settings.operators),
        ),
    )
    hashes, limits = PasswordHashes(), SignInLimits(database, peppers)
    servicer = AccountServicer(
        audit,
        sessions,
        SignIn(database, audit, sessions, hashes, limits, users),
        Passwords(database, audit, sessions, hashes, limits),
        FirstOperator(
            database,
            audit,
            hashes,
            SecretStr(setup_secret(settings.identity_secret)),
            is_configured=bool(settings.operators),
        ),
        organizations,
        Addresses(organizations, Egress(settings.private_networks)),
        ProviderTests(organizations, services or OtherServices()),
        users,
        UserList(database, audit),
        api_keys,
        ResolvedSettings(database, keys),
        Collections(database),
        ExtensionTexts(database, keys),
    )
    return bind(pb_grpc.add_AccountServiceServicer_to_server, servicer)


def encryption_keys(url: str, settings: AccountSettings) -> Keys:
    """Return the keys that encrypt and decrypt secrets in settings. Raises as `account_service`."""
    variable = "HEDDLE_ASSISTANTS_ENCRYPTION_KEY"
    return Keys.of(split_secrets(_secret(settings.encryption_key, url, ENCRYPTION_FILE, variable)))


def _peppers(url: str, settings: AccountSettings) -> Peppers:
    variable = "HEDDLE_ASSISTANTS_KEY_PEPPER"
    return Peppers(split_secrets(_secret(settings.key_pepper, url, PEPPER_FILE, variable)))


def _secret(configured: SecretStr | None, url: str, ending: str, variable: str) -> str:
    """Return the configured secret, else the one in the file beside the database."""
    if configured:
        return configured.get_secret_value()
    address = parse(url)
    if not isinstance(address, SqliteAddress):
        raise ValueError(  # noqa: TRY004 - the setting's value is what is wrong
            f"Set {variable} to {SHORTEST} random characters or more: with PostgreSQL there is no "
            "file of the database's own to keep a secret beside."
        )
    return read_or_create_secret(address.path.with_name(address.path.name + ending))
