"""Checks of the gateway over HTTP."""

import json
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from heddle.health.v1.health_pb2 import Component
from heddle_runtime.errors import InvalidRequestError

from heddle_cli.doctor.findings import Finding, Result
from heddle_cli.doctor.services import Models
from heddle_cli.service_reports import Report

_SECONDS = 10.0
_MAX_BYTES = 4 * 1024**2
_MAX_SKEW = 5.0
"""Seconds by which two clocks may differ. Tokens of the services are valid for a minute."""
_KEY = "Set HEDDLE_GATEWAY_API_KEY to a key of this gateway, as of `heddle keys create`."


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of the gateway."""

    status: int
    members: dict[str, Any]
    """Of the JSON object in the body; empty if there is none."""
    skew: float | None
    """How many seconds the clock of this machine is ahead of the server's, if it tells the time."""


class Gateway:
    """A gateway at an address."""

    def __init__(self, url: str, key: str) -> None:
        """Take the address and an API key, which may be empty.

        Raises:
            InvalidRequestError: It is no address of HTTP.
        """
        place = urlsplit(url)
        if place.scheme not in ("http", "https") or not place.hostname:
            raise InvalidRequestError(f"{url} is no address. Write it as https://host.example.org.")
        self.url = url.rstrip("/")
        self._key = key
        self._host, self._path = place.netloc.rpartition("@")[2], place.path.rstrip("/")
        self._class = HTTPSConnection if place.scheme == "https" else HTTPConnection

    @property
    def has_key(self) -> bool:
        """Whether requests carry an API key."""
        return bool(self._key)

    def get(self, path: str) -> Answer:
        """Return the answer to a request. Redirections are not followed: they would get the key.

        Raises:
            OSError: The gateway cannot be reached.
            HTTPException: It does not speak HTTP.
        """
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        connection = self._class(self._host, timeout=_SECONDS)
        try:
            connection.request("GET", f"{self._path}{path}", headers=headers)
            response = connection.getresponse()
            date = response.getheader("date")
            skew = time.time() - parsedate_to_datetime(date).timestamp() if date else None
            return Answer(response.status, _members(response.read(_MAX_BYTES)), skew)
        finally:
            connection.close()


def _members(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def gateway_findings(gateway: Gateway) -> Iterator[Finding]:
    """Check that a gateway is reachable, knows the key, and has the same time."""
    try:
        health = gateway.get("/health")
        key = gateway.get("/v1/me")
    except ssl.SSLError as error:
        remedy = "Use http:// if the server has no TLS, or trust its authority: SSL_CERT_FILE."
        text = f"{gateway.url} has no valid TLS: {error.reason}."
        yield Finding("gateway", "wrong", text, remedy)
        return
    except (OSError, HTTPException) as error:
        text = f"{gateway.url} cannot be reached: {_reason(error)}."
        remedy = "Start Heddle, or say where its gateway is: --gateway https://host.example.org"
        yield Finding("gateway", "wrong", text, remedy)
        return
    if "services" not in health.members:
        text = f"{gateway.url} is no gateway of Heddle: /health answers {health.status}."
        remedy = "Correct the address, or the reverse proxy before the gateway."
        yield Finding("gateway", "wrong", text, remedy)
        return
    yield Finding("gateway", "ok", f"{gateway.url} answers: {health.members.get('status')}.")
    if key.status in (401, 403):
        result, text = _refusal(gateway)
        yield Finding("API key", result, text, _KEY)
    elif key.status == 200:  # noqa: PLR2004 - success
        yield Finding("API key", "ok", f"Valid for {key.members.get('subject', '')}.")
    if health.skew is not None:
        yield _clock(health.skew)


def _refusal(gateway: Gateway) -> tuple[Result, str]:
    if gateway.has_key:
        return "wrong", "The gateway refuses the key."
    return "warning", "None is given, so the gateway tells little."


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error) or type(error).__name__
    return "it does not speak HTTP"


def _clock(skew: float) -> Finding:
    if abs(skew) <= _MAX_SKEW:
        return Finding("clock", "ok", "This machine and the gateway agree.")
    side = "ahead of" if skew > 0 else "behind"
    text = f"The clock of this machine is {abs(skew):.0f} s {side} the gateway's."
    remedy = "Synchronise both, for example with `timedatectl set-ntp true`: tokens would expire."
    return Finding("clock", "wrong", text, remedy)


def gateway_reports(gateway: Gateway) -> list[Report]:
    """Return what the gateway knows of the services. For others than operators: which are ready.

    Raises:
        OSError: The gateway cannot be reached.
    """
    details = gateway.get("/health/details").members.get("services", {})
    if details:
        return [
            Report(
                name,
                problem=each["problem"],
                components=[Component(**component) for component in each["components"]],
                version=each["version"],
            )
            for name, each in details.items()
        ]
    ready = gateway.get("/health").members.get("services", {})
    problem = "is not ready. Ask with the key of an operator for the reason."
    return [Report(name, problem="" if each else problem) for name, each in ready.items()]


def gateway_models(gateway: Gateway) -> list[Models]:
    """Return what connectors offer to the organisation of the key; nothing without a valid key.

    Raises:
        OSError: The gateway cannot be reached.
    """
    connectors = gateway.get("/connectors").members.get("connectors", [])
    return [
        Models(each["name"], each["debugging"], len(each["models"]), each["problem"] or "")
        for each in connectors
    ]
