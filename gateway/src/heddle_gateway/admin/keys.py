"""`/keys`: API keys for programs."""

from typing import Annotated, Any, Literal

from google.protobuf.timestamp_pb2 import Timestamp as TimestampMessage
from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.call_metadata import caller
from heddle_runtime.identity import home
from pydantic import Field

from heddle_gateway.http.models import (
    Model,
    PageSize,
    PageToken,
    Seconds,
    StrictModel,
    Text,
    identifier,
)
from heddle_gateway.routing import LOCATION, Call, Routes
from heddle_gateway.services import call

MAX_NAME = 200
_LAST_SECOND = 253_402_300_799  # of the year 9999, the last one that a timestamp holds
Scope = Literal["organization_admin", "admin"]
KeyId = Annotated[str, identifier("The identifier of a key.", "a1b2c3d4")]
routes = Routes("keys")


class KeyBody(StrictModel):
    """A key to be made."""

    name: Text = Field(min_length=1, max_length=MAX_NAME, description="The purpose of the key.")
    organization: Text = Field(
        default="", description="The slug of its organisation; by default the caller's."
    )
    user: Text | None = Field(
        default=None,
        description="The address of the user that the key acts as. Without a user, the key belongs "
        "to the organisation: it may use published assistants and owns nothing.",
    )
    scopes: list[Scope] = Field(
        default=[],
        description="`organization_admin` administers the organisation, `admin` may do everything. "
        "Callers can give only what they have.",
    )
    trusted: bool = Field(
        default=False,
        description="Whether the program may act for other users, whom it names in Open WebUI's "
        "headers, or LAMB by their numbers.",
    )
    expires_at: Annotated[int, Field(ge=0, le=_LAST_SECOND)] | None = Field(
        default=None, description="When the key ends, in seconds since 1970; null: never."
    )


class Key(Model):
    """A key, without its secret."""

    id: str
    name: str
    organization: str
    user: str | None = Field(description="Null for a key of the organisation.")
    scopes: list[str]
    trusted: bool
    created: Seconds | None
    expires_at: Seconds | None = Field(description="Null: never.")
    revoked_at: Seconds | None = Field(description="Null if it is not revoked.")
    last_used: Seconds | None = Field(
        description="When the key was last used, a minute early or late; null if it never was."
    )


class NewKey(Key):
    """A key that was made."""

    key: str = Field(description="What programs send. Only this response contains it.")


class KeyPage(Model):
    """A page of keys."""

    keys: list[Key]
    next_page_token: str = Field(description="Empty on the last page.")


class KeyQuery(Model):
    """The query of the list of keys."""

    page_size: PageSize
    page_token: PageToken
    organization: Text = Field(default="", description="Only keys of this organisation.")
    text: Text = Field(
        default="", description="Only those whose name, user or id contains it, in any case."
    )
    usable: bool = Field(
        default=False, description="Only those that are neither revoked nor expired."
    )


@routes.get("/keys", errors=(400,))
async def list_keys(api: Call, query: KeyQuery) -> KeyPage:
    """List keys, the newest first: the caller's own, or those that the caller administers."""
    request = pb.ListKeysRequest(**query.model_dump())
    page = await call(api.services.accounts.ListKeys, request)
    keys = [Key(**_members(each)) for each in page.keys]
    return KeyPage(keys=keys, next_page_token=page.next_page_token)


@routes.post("/keys", status=201, errors=(404,), headers=LOCATION)
async def create(api: Call, body: KeyBody) -> NewKey:
    """Make a key. Users make keys for themselves, administrators for their organisation."""
    expires = None if body.expires_at is None else TimestampMessage(seconds=body.expires_at)
    key = pb.Key(
        name=body.name,
        organization=body.organization or home(caller().identity),
        user=body.user or "",
        scopes=body.scopes,
        trusted=body.trusted,
        expire_time=expires,
    )
    response = await call(api.services.accounts.CreateKey, pb.CreateKeyRequest(key=key))
    api.headers["location"] = f"/keys/{response.key.id}"
    api.headers["cache-control"] = "no-store"
    return NewKey(**_members(response.key), key=response.secret)


@routes.delete("/keys/{id}", errors=(400, 404))
async def revoke(api: Call, id_: KeyId) -> Key:
    """Revoke a key: it is refused within two seconds, for good. It stays in the list."""
    response = await call(api.services.accounts.RevokeKey, pb.RevokeKeyRequest(id=id_))
    return Key(**_members(response.key))


def _members(key: pb.Key) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "organization": key.organization,
        "user": key.user or None,
        "scopes": list(key.scopes),
        "trusted": key.trusted,
        "created": key.create_time.seconds or None,
        "expires_at": key.expire_time.seconds or None,
        "revoked_at": key.revoke_time.seconds or None,
        "last_used": key.last_use_time.seconds or None,
    }
