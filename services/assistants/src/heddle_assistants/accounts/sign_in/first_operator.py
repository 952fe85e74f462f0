"""Makes the account of the first operator, for who has the link that Heddle prints."""

import hmac
import time
from dataclasses import dataclass

from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.contract.audit import Change
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.errors import ConflictError, PermissionDeniedError
from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION
from heddle_runtime.storage.database.engine import Database
from pydantic import SecretStr
from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.accounts.owner_organizations import existing_organization
from heddle_assistants.accounts.sign_in.password_hashes import PasswordHashes
from heddle_assistants.accounts.sign_in.passwords import check_new_password
from heddle_assistants.accounts.sign_in.signing_in import acting
from heddle_assistants.audit.log import AuditLog
from heddle_assistants.database.schema import passwords, setup, users

_ROLE = "admin"
_ONLY = 1
_USED = "The operator has an account already. Sign in with it."


@dataclass(eq=False, slots=True)
class FirstOperator:
    """Makes one account, once in the life of an installation."""

    database: Database
    audit: AuditLog
    hashes: PasswordHashes
    secret: SecretStr
    """Of the link."""
    is_configured: bool
    """Whether the environment names operators. Then the link is not good."""

    async def is_missing(self) -> bool:
        """Return whether the account can be made."""
        if self.is_configured:
            return False
        async with self.database.reading() as connection:
            return await connection.scalar(select(setup.c.id)) is None

    async def create(self, request: pb.CreateFirstOperatorRequest) -> None:
        """Make the account, with the operator's role.

        Raises:
            ConflictError: It was made before, or the address is that of a user.
            InvalidRequestError: The password is not valid.
            PermissionDeniedError: The secret is wrong.
        """
        if not hmac.compare_digest(
            request.secret.encode(), self.secret.get_secret_value().encode()
        ):
            await self.audit.failed(
                Change("user.create", "operator", DEFAULT_ORGANIZATION, refused=True)
            )
            raise PermissionDeniedError(
                "The link is not valid. Use the one that Heddle printed when it started last."
            )
        if not await self.is_missing():
            raise ConflictError(_USED)
        email = canonical_email(request.email)
        check_new_password(request.password, email)
        hashed = await self.hashes.hash(request.password)
        with acting(email, DEFAULT_ORGANIZATION):
            try:
                async with self.audit.writing() as (connection, changes):
                    await _claim(connection)
                    await _insert(connection, email, request.name, hashed)
                    after = {"name": request.name, "role": _ROLE, "operator": True}
                    changes.append(Change("user.create", email, DEFAULT_ORGANIZATION, after=after))
            except IntegrityError:
                raise ConflictError(
                    f"The address {email} is that of a user. Use another one, or name it in "
                    "HEDDLE_ASSISTANTS_OPERATORS."
                ) from None


async def _claim(connection: AsyncConnection) -> None:
    """Note that the account is made. Of two requests at the same time, the later one fails here."""
    try:
        await connection.execute(insert(setup).values(id=_ONLY, completed_at=int(time.time())))
    except IntegrityError:
        raise ConflictError(_USED) from None


async def _insert(connection: AsyncConnection, email: str, name: str, hashed: str) -> None:
    now = int(time.time())
    user = {"email": email, "name": name, "role": _ROLE, "home": True, "operator": True}
    place = await existing_organization(connection, DEFAULT_ORGANIZATION)
    query = insert(users).values(**user, organization_id=place, created_at=now, updated_at=now)
    identifier = await connection.scalar(query.returning(users.c.id))
    password = {"hash": hashed, "all_organizations": True, "changed_at": now}
    await connection.execute(insert(passwords).values(user_id=identifier, **password))
