"""Decides whether a client may have its request traced, by the flag of its `traceparent`.

Each traced request costs, so only trusted keys and programs on this machine may ask for it.
"""

from heddle_runtime.errors import HeddleError
from heddle_runtime.telemetry import spans

from heddle_gateway.auth.authenticator import Authenticator
from heddle_gateway.http.raw import RawRequest

_FORWARDING = frozenset({b"forwarded", b"x-forwarded-for", b"x-real-ip"})
"""Headers of proxies: their connection says nothing about the client."""


async def flag_counts(request: RawRequest, authenticator: Authenticator, trace: str) -> bool:
    """Return whether a trace context that a client sent has the flag, and the client may set it."""
    if not trace.endswith(spans.SAMPLED):
        return False
    if _is_here(request):
        return True
    try:
        return await authenticator.is_trusted(request)
    except HeddleError:  # the request itself fails with it
        return False


def _is_here(request: RawRequest) -> bool:
    """Return whether a request comes from a program on this machine, not through a proxy."""
    connection = request.scope["client"]
    address = connection[0] if connection else ""
    is_loopback = address.startswith("127.") or address == "::1"
    return is_loopback and not _FORWARDING & request.headers.keys()
