"""`heddle.account.v1.AccountService`."""

import json
import time
from dataclasses import dataclass

from heddle.account.v1 import account_pb2 as pb
from heddle_conversion.identifiers import row_id
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.contract.paging import cut, page_size, read_token
from heddle_runtime.errors import InvalidRequestError, UnauthenticatedError, Violation
from heddle_runtime.identity.call_metadata import Context, caller
from heddle_runtime.identity.callers import home
from heddle_runtime.identity.permissions import may_administer, require_service
from sqlalchemy import and_

from heddle_assistants.accounts import access, checks
from heddle_assistants.accounts.addresses import Addresses
from heddle_assistants.accounts.api_keys import ApiKeys, usable
from heddle_assistants.accounts.collections import Collections
from heddle_assistants.accounts.extension_texts import ExtensionTexts
from heddle_assistants.accounts.organizations import Organization, Organizations
from heddle_assistants.accounts.provider_tests import ProviderTests
from heddle_assistants.accounts.resolved_settings import ResolvedSettings
from heddle_assistants.accounts.secret_members import masked
from heddle_assistants.accounts.settings_text import parsed
from heddle_assistants.accounts.sign_in.servicer import SignInServicer
from heddle_assistants.accounts.user_list import UserList
from heddle_assistants.accounts.users import Users
from heddle_assistants.database.paging import contains
from heddle_assistants.database.schema import api_keys, organizations
from heddle_assistants.field_checks import require


@dataclass(eq=False, slots=True)
class AccountServicer(SignInServicer):
    """Translates between the contract and the tables, and enforces the permissions."""

    organizations: Organizations
    addresses: Addresses
    provider_tests: ProviderTests
    users: Users
    user_list: UserList
    keys: ApiKeys
    settings: ResolvedSettings
    collections: Collections
    extension_texts: ExtensionTexts

    async def PutExtensionText(
        self, request: pb.PutExtensionTextRequest, context: Context
    ) -> pb.PutExtensionTextResponse:
        """Store a text of an extension."""
        require_service(caller().identity)
        await self.extension_texts.put(request)
        return pb.PutExtensionTextResponse()

    async def GetExtensionText(
        self, request: pb.GetExtensionTextRequest, context: Context
    ) -> pb.GetExtensionTextResponse:
        """Return a text of an extension."""
        require_service(caller().identity)
        return pb.GetExtensionTextResponse(text=await self.extension_texts.get(request.name))

    async def ResolveKey(
        self, request: pb.ResolveKeyRequest, context: Context
    ) -> pb.ResolveKeyResponse:
        """Return the user of a key."""
        require_service(caller().identity)
        holder = await self.keys.holder(request.key)
        if holder is None:
            # The member tells the caller apart from the case that he himself is not known.
            raise UnauthenticatedError("The API key is not valid.", subject="key")
        return holder

    async def CreateKey(
        self, request: pb.CreateKeyRequest, context: Context
    ) -> pb.CreateKeyResponse:
        """Create a key and return it. Only this response contains the key."""
        identity = caller().identity
        key = _completed(request.key, home(identity))
        async with self.audit.attempt("key.create", key.organization):
            access.require_may_make(identity, key)
            checks.check_key(key)
            access.require_scopes(identity, key.scopes)
            return await self.keys.make(key)

    async def ListKeys(self, request: pb.ListKeysRequest, context: Context) -> pb.ListKeysResponse:
        """List the keys that the caller may see."""
        limit = page_size(request.page_size)
        after = _after(request.page_token)
        where = and_(
            access.visible_keys(caller().identity),
            contains(request.text, api_keys.c.name, api_keys.c.user_email, api_keys.c.id),
        )
        if request.organization:
            where = and_(where, organizations.c.slug == request.organization)
        if request.usable:
            where = and_(where, usable(int(time.time())))
        keys = await self.keys.listed(where, after, limit + 1)
        shown, token = cut(keys, limit, lambda key: f"{key.create_time.seconds} {key.id}")
        return pb.ListKeysResponse(keys=shown, next_page_token=token)

    async def RevokeKey(
        self, request: pb.RevokeKeyRequest, context: Context
    ) -> pb.RevokeKeyResponse:
        """Revoke a key."""
        where = access.visible_keys(caller().identity)
        async with self.audit.attempt("key.revoke", request.id):
            return pb.RevokeKeyResponse(key=await self.keys.revoke(request.id, where))

    async def GetOrganization(
        self, request: pb.GetOrganizationRequest, context: Context
    ) -> pb.GetOrganizationResponse:
        """Return an organisation without its secrets."""
        access.require_administrator(caller().identity, request.slug)
        organization = await self.organizations.get(request.slug)
        message = _with_settings(organization)
        return pb.GetOrganizationResponse(organization=message, etag=organization.etag)

    async def ListOrganizations(
        self, request: pb.ListOrganizationsRequest, context: Context
    ) -> pb.ListOrganizationsResponse:
        """List the organisations that the caller administers."""
        limit = page_size(request.page_size)
        after = read_token(request.page_token)
        where = and_(
            access.visible_organizations(caller().identity),
            contains(request.text, organizations.c.slug, organizations.c.name),
        )
        stored = await self.organizations.listed(where, after, limit + 1)
        shown, token = cut(stored, limit, lambda each: each.slug)
        return pb.ListOrganizationsResponse(
            organizations=map(_summary, shown), next_page_token=token
        )

    async def PutOrganization(
        self, request: pb.PutOrganizationRequest, context: Context
    ) -> pb.PutOrganizationResponse:
        """Create or change an organisation."""
        organization = request.organization
        async with self.audit.attempt("organization.update", organization.slug):
            access.require_administrator(caller().identity, organization.slug)
        checks.check_name(organization.name, "organization.name")
        settings = parsed(organization.settings_json) if organization.settings_json else None
        if settings is not None:
            await self.addresses.check(organization.slug, settings)
            if not request.allow_failing_providers:
                await self.provider_tests.check(organization.slug, settings, context)
        stored = await self.organizations.put(request, settings)
        message = _with_settings(stored)
        return pb.PutOrganizationResponse(organization=message, etag=stored.etag)

    async def PutUser(self, request: pb.PutUserRequest, context: Context) -> pb.PutUserResponse:
        """Create or change a user."""
        identity = caller().identity
        async with self.audit.attempt("user.update", request.email):
            access.require_administrator(identity, request.organization)
        checks.check_user(request)
        await self.users.put(request, home=may_administer(identity))
        stored = await self.user_list.get(request.organization, canonical_email(request.email))
        return pb.PutUserResponse(user=stored.user, etag=stored.etag)

    async def GetUser(self, request: pb.GetUserRequest, context: Context) -> pb.GetUserResponse:
        """Return a user."""
        access.require_administrator(caller().identity, request.organization)
        return await self.user_list.get(request.organization, canonical_email(request.email))

    async def ListUsers(
        self, request: pb.ListUsersRequest, context: Context
    ) -> pb.ListUsersResponse:
        """List the users of an organisation."""
        access.require_administrator(caller().identity, request.organization)
        limit = page_size(request.page_size)
        after = read_token(request.page_token)
        users = await self.user_list.listed(request, after, limit + 1)
        shown, token = cut(users, limit, lambda each: each.email)
        return pb.ListUsersResponse(users=shown, next_page_token=token)

    async def DeleteUser(
        self, request: pb.DeleteUserRequest, context: Context
    ) -> pb.DeleteUserResponse:
        """Remove a user from an organisation."""
        identity = caller().identity
        async with self.audit.attempt("user.delete", request.email):
            access.require_administrator(identity, request.organization)
        email = canonical_email(request.email)
        checks.check_other(email, identity.subject)
        await self.user_list.remove(request.organization, email, request.etag)
        return pb.DeleteUserResponse()

    async def ResolveUser(
        self, request: pb.ResolveUserRequest, context: Context
    ) -> pb.ResolveUserResponse:
        """Return the role of a user in an organisation."""
        require_service(caller().identity)
        return await self.users.standing(request.email, request.organization)

    async def ResolveUserNumber(
        self, request: pb.ResolveUserNumberRequest, context: Context
    ) -> pb.ResolveUserNumberResponse:
        """Return the user who has a number."""
        require_service(caller().identity)
        return await self.users.numbered(request.number)

    async def ResolveSettings(
        self, request: pb.ResolveSettingsRequest, context: Context
    ) -> pb.ResolveSettingsResponse:
        """Return the settings of an organisation, with its secrets if the caller asks for them."""
        require_service(caller().identity)
        reaching = not request.without_servers
        owner, slug = request.owner, request.organization
        require(bool(owner or slug), "owner", "name an owner or an organisation")
        if not owner:
            return await self.settings.of_organization(slug, reaching=reaching)
        return await self.settings.of_owner(owner, slug, reaching=reaching)

    async def ListRetention(
        self, request: pb.ListRetentionRequest, context: Context
    ) -> pb.ListRetentionResponse:
        """List the retention limits of organisations."""
        require_service(caller().identity)
        return pb.ListRetentionResponse(retention=await self.settings.retention())

    async def ResolveCollections(
        self, request: pb.ResolveCollectionsRequest, context: Context
    ) -> pb.ResolveCollectionsResponse:
        """Return the collections that an assistant may not use, and those that are shared."""
        require_service(caller().identity)
        return await self.collections.resolved(request)


def _completed(key: pb.Key, organization: str) -> pb.Key:
    completed = pb.Key()
    completed.CopyFrom(key)
    completed.user = canonical_email(key.user)
    completed.organization = key.organization or organization
    return completed


def _with_settings(organization: Organization) -> pb.Organization:
    message = _summary(organization)
    message.settings_json = json.dumps(masked(organization.settings))
    return message


def _summary(organization: Organization) -> pb.Organization:
    return pb.Organization(
        slug=organization.slug, name=organization.name, system=organization.system
    )


def _after(token: str) -> tuple[int, str] | None:
    if not token:
        return None
    created, _, identifier = read_token(token).partition(" ")
    seconds = row_id(created)
    if seconds is None:
        violation = Violation("page_token", "is not a token of this list")
        raise InvalidRequestError("The page token is not valid.", [violation])
    return seconds, identifier
