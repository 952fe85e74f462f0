"""The key with which Heddle signs what it sends to learning platforms."""

import asyncio
import time
import uuid
from typing import Any

from heddle_gateway.routing import Call
from joserfc import jwt
from joserfc.jwk import KeyParameters, RSAKey

from heddle_migration_service.lti.launches import texts_of
from heddle_migration_service.lti.stored_links import ToolKey

_ALGORITHM = "RS256"  # the one that every platform knows
_BITS = 2048
_SECONDS = 300


async def tool_key(api: Call) -> RSAKey:
    """Return the key of this installation, which is made when it is first needed."""
    texts = texts_of(api)
    stored = await texts.get(ToolKey)
    if stored is None:
        new = await asyncio.to_thread(RSAKey.generate_key, _BITS)
        pem = new.as_pem(private=True).decode()
        stored = ToolKey(pem, uuid.uuid4().hex)
        if not await texts.put(stored):  # another gateway was first
            stored = await texts.get(ToolKey) or stored
    more: KeyParameters = {"kid": stored.identifier, "use": "sig", "alg": _ALGORITHM}
    return RSAKey.import_key(stored.pem, more)


async def signed(api: Call, claims: dict[str, Any]) -> str:
    """Return claims that a platform can check, good for five minutes."""
    key, now = await tool_key(api), int(time.time())
    times = {"iat": now, "exp": now + _SECONDS}
    return jwt.encode({"alg": _ALGORITHM, "kid": key.kid}, {**claims, **times}, key)
