"""Selects whose rights a call has: the assistant owner's, if the caller may act for the owner.

Rubrics, files, settings and providers are used with the rights of the assistant's owner. A request
names the owner; the grant of the orchestrator proves it. Without one, the caller needs a right.
"""

from typing import TypeVar

from heddle.assistant.v1.assistant_pb2 import Assistant
from heddle.connector.v1.connector_pb2 import GenerateMessageRequest
from heddle.tool.v1.tool_pb2 import RunContext

from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION, SERVICE, Identity, home
from heddle_runtime.identity.grants import GrantVerifier
from heddle_runtime.identity.permissions import Right, may_administer, require

MessageT = TypeVar("MessageT", RunContext, GenerateMessageRequest)


class AssistantOwners:
    """Checks who owns the assistants of requests."""

    def __init__(self, secret: str, right: Right) -> None:
        """Verify grants with a secret; a caller without one needs `right`."""
        self.grants = GrantVerifier(secret)
        self._right: Right = right

    def checked(self, request: MessageT, grant: str) -> MessageT:
        """Return a request whose `assistant` has the owner whose rights count.

        It is the caller, unless the grant, or the caller itself, may act for the named owner.

        Raises:
            PermissionDeniedError: There is no grant, and the caller lacks the right.
            UnauthenticatedError: The grant is invalid.
        """
        identity, assistant = caller().identity, request.assistant
        if SERVICE in identity.scopes or self._is_granted(assistant, grant):
            return request
        require(identity, self._right)
        if _may_act_for(identity, assistant):
            return request
        own = type(request)()
        own.CopyFrom(request)
        own.assistant.owner, own.assistant.organization = identity.subject, identity.organization
        return own

    def _is_granted(self, assistant: Assistant, grant: str) -> bool:
        if not grant:
            return False
        granted = self.grants.verified(grant)
        return (granted.owner, granted.organization) == (assistant.owner, assistant.organization)


def _may_act_for(identity: Identity, assistant: Assistant) -> bool:
    if may_administer(identity):
        return True
    at_home = (assistant.organization or DEFAULT_ORGANIZATION) == home(identity)
    return at_home and assistant.owner == identity.subject
