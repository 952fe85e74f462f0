"""The cookie that holds the token of a session."""

from urllib.parse import urlsplit

from heddle_gateway.http.headers import SESSION_COOKIE
from heddle_gateway.http.raw import RawRequest

_COOKIE = b"cookie"


class SessionCookie:
    """Reads and writes the cookie of a gateway at its public address.

    Over https, its name begins with `__Host-`: browsers then accept it from this host only, for all
    paths and over https only.
    """

    def __init__(self, public_url: str) -> None:
        self._is_secure = urlsplit(public_url).scheme == "https"
        self.name = f"__Host-{SESSION_COOKIE}" if self._is_secure else SESSION_COOKIE
        self._beginning = f"{self.name}="

    def token(self, request: RawRequest) -> str:
        """Return the token of a request; empty if there is none, or several differ."""
        if _COOKIE not in request.headers:
            return ""
        headers = (value for name, value in request.scope["headers"] if name == _COOKIE)
        pairs = b";".join(headers).decode("latin-1").split(";")
        tokens = {
            pair.strip().removeprefix(self._beginning)
            for pair in pairs
            if pair.strip().startswith(self._beginning)
        }
        return tokens.pop() if len(tokens) == 1 else ""

    def header(self, token: str, seconds: int) -> str:
        """Return the value of `Set-Cookie` that stores a token, or removes it with 0 seconds."""
        secure = "; Secure" if self._is_secure else ""
        return f"{self.name}={token}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
