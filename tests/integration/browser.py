"""Who asks Heddle over HTTP."""

import ssl

import httpx

# To load the certificates of the world takes longer than most tests do, and none of them needs any.
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def browser(url: str = "", key: str = "", timeout: float = 20) -> httpx.AsyncClient:
    """Return a client, which waits `timeout` seconds.

    It sends `key` with every request, if there is one.
    """
    return httpx.AsyncClient(
        base_url=url,
        headers={"authorization": f"Bearer {key}"} if key else None,
        timeout=timeout,
        trust_env=False,
        verify=NO_CERTIFICATES,
    )
