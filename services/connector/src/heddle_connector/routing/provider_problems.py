"""Explains why a provider lists no models: the cause, and what a person can do about it."""

import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from heddle.connector.v1 import connector_pb2 as pb
from heddle_runtime.errors import DeadlineError, HeddleError, ProviderGarbledError
from heddle_runtime.http.egress import ForbiddenAddressError

from heddle_connector.sdk import WEB_PAGE

_UNAUTHORIZED, _FORBIDDEN = "401", "403"
_PATH_STATUSES = ("301", "302", "307", "308", "400", "404", "405")
_MESSAGES: Mapping["pb.ProviderProblem.ValueType", str] = {
    pb.PROVIDER_PROBLEM_ADDRESS: "No server answers at {address}. Check the name and the port, "
    "that the server is running, and that this machine can reach it.",
    pb.PROVIDER_PROBLEM_KEY_MISSING: "The provider needs a key. Enter the key from your account "
    "there.",
    pb.PROVIDER_PROBLEM_KEY: "The provider does not accept the key. Copy the whole key again, or "
    "make a new one at the provider.",
    pb.PROVIDER_PROBLEM_SCHEME: "The address is right but for its beginning: http and https are "
    "mixed up. Change it to {suggestion}.",
    pb.PROVIDER_PROBLEM_PATH: "The server at {address} answers, but has no list of models there. "
    "Check the end of the address: for many servers it is /v1.",
    pb.PROVIDER_PROBLEM_PRIVATE_ADDRESS: "The address is in a private network that the operator "
    "has not allowed. Enter a public address, or ask the operator to allow this network.",
    pb.PROVIDER_PROBLEM_NO_MODELS: "The provider answers, but has no models. Load a model there, "
    "or let the provider enable one for the key.",
    pb.PROVIDER_PROBLEM_TIMEOUT: "The server did not answer within {seconds:g} s. Check the "
    "address, and whether a firewall is in between. If the server is starting, try again.",
    pb.PROVIDER_PROBLEM_WEB_PAGE: "At {address} is a web page, not an interface for programs. "
    "The provider's documentation names the address of the interface (API).",
    pb.PROVIDER_PROBLEM_CERTIFICATE: "The certificate of the server is not trusted. Give the "
    "server a valid certificate, or check the name in the address.",
    pb.PROVIDER_PROBLEM_REFUSED: "The provider refuses the request, or failed. Try again later; if "
    "it stays, look at the account there.",
    pb.PROVIDER_PROBLEM_ANSWER: "The answer of the server at {address} is no list of models. "
    "Check that the address belongs to a provider of this kind.",
}
_AT_SUGGESTION = "The models are not at {address}, but at {suggestion}. Change the address."
_CAUSES: Sequence[tuple[type[BaseException], "pb.ProviderProblem.ValueType"]] = (
    # Each before the class that it belongs to.
    (ForbiddenAddressError, pb.PROVIDER_PROBLEM_PRIVATE_ADDRESS),
    (TimeoutError, pb.PROVIDER_PROBLEM_TIMEOUT),
    (ssl.SSLCertVerificationError, pb.PROVIDER_PROBLEM_CERTIFICATE),
    (ssl.SSLError, pb.PROVIDER_PROBLEM_SCHEME),
    (OSError, pb.PROVIDER_PROBLEM_ADDRESS),
    (UnicodeError, pb.PROVIDER_PROBLEM_ADDRESS),  # not a possible name of a host
)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a provider lists no models."""

    problem: "pb.ProviderProblem.ValueType"
    provider_message: str = ""
    """The provider's own words."""

    def message(self, address: str, suggestion: str, seconds: float) -> str:
        """Return the cause and the remedy.

        Args:
            address: The address that was asked.
            suggestion: Another address at which the provider answers, empty if none is known.
            seconds: The time limit.
        """
        text = _MESSAGES[self.problem]
        if suggestion and self.problem != pb.PROVIDER_PROBLEM_SCHEME:
            text = _AT_SUGGESTION
        return text.format(address=address, suggestion=suggestion, seconds=seconds)


def explain(error: HeddleError | None) -> Explanation:
    """Return the explanation of an error of `Connector.models`; None stands for an empty list."""
    if error is None:
        return Explanation(pb.PROVIDER_PROBLEM_NO_MODELS)
    if status := error.metadata.get("http_status", ""):
        return Explanation(_of_status(status), error.message)
    if isinstance(error, ProviderGarbledError):
        is_page = WEB_PAGE in error.metadata
        return Explanation(pb.PROVIDER_PROBLEM_WEB_PAGE if is_page else pb.PROVIDER_PROBLEM_ANSWER)
    return Explanation(_of_cause(error))


def _of_status(status: str) -> "pb.ProviderProblem.ValueType":
    if status in (_UNAUTHORIZED, _FORBIDDEN):
        return pb.PROVIDER_PROBLEM_KEY
    return pb.PROVIDER_PROBLEM_PATH if status in _PATH_STATUSES else pb.PROVIDER_PROBLEM_REFUSED


def _of_cause(error: HeddleError) -> "pb.ProviderProblem.ValueType":
    if isinstance(error, DeadlineError):
        return pb.PROVIDER_PROBLEM_TIMEOUT
    causes = (problem for kind, problem in _CAUSES if isinstance(error.__cause__, kind))
    return next(causes, pb.PROVIDER_PROBLEM_KEY_MISSING)
