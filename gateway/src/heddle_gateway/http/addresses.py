"""The address at which clients see the gateway."""

import re

_HOST = re.compile(r"[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?")


def own_address(public_url: str, scheme: str, host: str) -> str:
    """Return the address without a slash at its end, empty if it is not known.

    Args:
        public_url: The address in the settings, empty if there is none.
        scheme: That of a request.
        host: The header `Host` of the request.
    """
    if public_url:
        return public_url.rstrip("/")
    return f"{scheme}://{host}" if _HOST.fullmatch(host) else ""
