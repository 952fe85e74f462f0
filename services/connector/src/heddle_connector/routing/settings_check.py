"""Tests the settings of a provider: asks it for its models, and explains what fails.

After a failure, the test asks other addresses of the same host: with the other scheme, and with or
without `/v1`, and without what follows it. It suggests the first at which the provider answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from heddle.account.v1.account_pb2 import Provider
from heddle.connector.v1 import connector_pb2 as pb
from heddle_runtime.contract.unicode_text import valid_text
from heddle_runtime.errors import HeddleError, InvalidRequestError, Violation
from heddle_runtime.http.egress import server_address

from heddle_connector.http import HttpClient, Request
from heddle_connector.routing.model_catalogue import fetch_models
from heddle_connector.routing.provider_problems import Explanation, explain
from heddle_connector.sdk import Connector, Model

SECONDS = 5.0
"""The time limit for a provider to list its models."""
_PROBE_SECONDS = 2.0
_MAX_MODELS = 1_000
_VERSION = "/v1"
_MASK = "********"
"""Stands for the stored key in what clients read and send."""
_AT_ANOTHER_PATH = (
    pb.PROVIDER_PROBLEM_PATH,
    pb.PROVIDER_PROBLEM_WEB_PAGE,
    pb.PROVIDER_PROBLEM_ANSWER,
)
_WITH_ANOTHER_SCHEME = (
    pb.PROVIDER_PROBLEM_SCHEME,
    pb.PROVIDER_PROBLEM_ADDRESS,
    pb.PROVIDER_PROBLEM_TIMEOUT,  # some servers wait for the end of what is no HTTP to them
    *_AT_ANOTHER_PATH,
)
_ANSWERS = (
    pb.PROVIDER_PROBLEM_KEY,
    pb.PROVIDER_PROBLEM_KEY_MISSING,
    pb.PROVIDER_PROBLEM_NO_MODELS,
)
"""What a provider says at the right address."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """The settings of a provider that may be stored, or that apply now."""

    connector: Connector[Any]
    http: HttpClient
    is_changeable: bool = True
    """Whether the connector reads an address from the settings."""

    @property
    def base_url(self) -> str:
        """The address of the provider, empty if the connector has none."""
        return str(getattr(self.connector.settings, "base_url", ""))

    def at(self, base_url: str) -> Connector[Any]:
        """Return a connector with the same settings, and another address."""
        settings = self.connector.settings.model_copy(update={"base_url": base_url})
        return type(self.connector)(settings, self.http)


async def check_provider(candidate: Candidate) -> pb.CheckProviderResponse:
    """Return the models of a provider, or the problem and its remedy."""
    address = candidate.base_url
    models, explanation = await _ask(candidate.connector, SECONDS)
    if explanation is None:
        return pb.CheckProviderResponse(
            models=[
                pb.ListedModel(id=valid_text(it.name), title=valid_text(it.title or it.name))
                for it in models[:_MAX_MODELS]
            ],
            base_url=address,
        )
    suggestion = ""
    if address and candidate.is_changeable:
        explanation, suggestion = await _other_address(candidate, explanation)
    return pb.CheckProviderResponse(
        problem=explanation.problem,
        message=explanation.message(address, suggestion, SECONDS),
        provider_message=valid_text(explanation.provider_message),
        suggested_url=suggestion,
        base_url=address,
    )


async def _other_address(candidate: Candidate, explanation: Explanation) -> tuple[Explanation, str]:
    """Return the explanation with what other addresses tell, and the address to use instead."""
    address, problem = candidate.base_url, explanation.problem
    if problem in _AT_ANOTHER_PATH:
        base, version, rest = address.partition(_VERSION)
        other = base if version and not rest else base + _VERSION
        models, failed = await _ask(candidate.at(other), _PROBE_SECONDS)
        if models or (failed is not None and failed.problem in _ANSWERS):
            return Explanation(pb.PROVIDER_PROBLEM_PATH), other
    if problem in _WITH_ANOTHER_SCHEME:
        parts = urlsplit(address)
        other = parts._replace(scheme="http" if parts.scheme == "https" else "https").geturl()
        if await _is_better(candidate.http, other, problem):
            return Explanation(pb.PROVIDER_PROBLEM_SCHEME), other
    if problem == pb.PROVIDER_PROBLEM_SCHEME:  # TLS fails, and so does plain HTTP
        return Explanation(pb.PROVIDER_PROBLEM_CERTIFICATE), ""
    return explanation, ""


async def _ask(
    connector: Connector[Any], seconds: float
) -> tuple[Sequence[Model], Explanation | None]:
    fetched = await fetch_models(connector.plugin.name, connector, seconds)
    if fetched.models:
        return fetched.models, None
    if fetched.problem and fetched.error is None:  # third-party code failed
        return (), Explanation(pb.PROVIDER_PROBLEM_REFUSED, fetched.problem)
    return (), explain(fetched.error)


async def _is_better(
    http: HttpClient, address: str, problem: "pb.ProviderProblem.ValueType"
) -> bool:
    """Return whether an address answers better than one with a problem. It gets no key."""
    try:
        await http.fetch(Request(f"{address}/models", {}, _PROBE_SECONDS))
    except HeddleError as error:
        answer = explain(error).problem
        if answer in (pb.PROVIDER_PROBLEM_KEY, pb.PROVIDER_PROBLEM_CERTIFICATE):
            return True
        return "http_status" in error.metadata and problem != pb.PROVIDER_PROBLEM_PATH
    return True


def requested_provider(request: pb.CheckProviderRequest, stored: Provider) -> Provider:
    """Return the settings of a provider in a request, with the stored key where it is meant.

    Raises:
        InvalidRequestError: The address is none, or the stored key belongs to another server.
    """
    if not (request.base_url or request.api_key):
        return Provider(base_url=stored.base_url, api_key=stored.api_key)
    address = request.base_url.strip().rstrip("/")
    try:
        if address:
            server_address(address)
    except ValueError as error:
        violation = Violation("base_url", f"{error}, such as https://models.example.org/v1")
        raise InvalidRequestError("The address cannot be used.", [violation]) from None
    key = request.api_key.strip()
    if key == _MASK:
        if urlsplit(address)[:2] != urlsplit(stored.base_url)[:2]:
            text = "enter the key again: the stored one is for another server"
            raise InvalidRequestError("The key is missing.", [Violation("api_key", text)])
        key = stored.api_key
    return Provider(base_url=address, api_key=key)
