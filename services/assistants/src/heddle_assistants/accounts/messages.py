"""Accounts in the words of the contract."""

import json

from google.protobuf.timestamp_pb2 import Timestamp
from heddle.account.v1 import account_pb2 as pb

from heddle_assistants.accounts.api_keys import ApiKey
from heddle_assistants.accounts.organizations import Organization
from heddle_assistants.accounts.secret_members import masked


def key_message(key: ApiKey) -> pb.Key:
    """Return a key without the key."""
    return pb.Key(
        id=key.id,
        name=key.name,
        organization=key.organization,
        user=key.user or "",
        scopes=key.scopes,
        trusted=key.trusted,
        create_time=_time(key.created_at),
        expire_time=_time(key.expires_at),
        revoke_time=_time(key.revoked_at),
    )


def api_key_of(message: pb.Key) -> ApiKey:
    """Return the key that somebody asks for."""
    expires = message.expire_time.seconds if message.HasField("expire_time") else None
    return ApiKey(
        "",
        message.name,
        message.organization,
        message.user or None,
        tuple(dict.fromkeys(message.scopes)),
        message.trusted,
        0,
        expires,
        None,
    )


def organization_message(organization: Organization) -> pb.Organization:
    """Return an organisation without its secrets."""
    message = organization_summary(organization)
    message.settings_json = json.dumps(masked(organization.settings))
    return message


def organization_summary(organization: Organization) -> pb.Organization:
    """Return an organisation without its settings."""
    return pb.Organization(
        slug=organization.slug, name=organization.name, system=organization.system
    )


def _time(seconds: int | None) -> Timestamp | None:
    return None if seconds is None else Timestamp(seconds=seconds)
