"""Whose rights a call of tools has: those of the assistant's owner, if the caller may act for him.

Tools read rubrics, files and settings with the rights of the assistant's owner. A request names the
owner; the grant of the orchestrator proves it.
"""

from heddle.assistant.v1.assistant_pb2 import Assistant
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.call_metadata import caller
from heddle_runtime.grants import GrantVerifier
from heddle_runtime.identity import DEFAULT_ORGANIZATION, SERVICE, Identity, home
from heddle_runtime.permissions import may_administer


class AssistantOwners:
    """Checks who owns the assistants of requests."""

    def __init__(self, secret: str | None) -> None:
        """Verify grants with a secret, or accept unsigned ones without it."""
        self._grants = GrantVerifier(secret)

    def checked(self, assistant: Assistant, grant: str) -> Assistant:
        """Return an assistant with the owner whose rights count.

        It is the caller, unless the grant, or the caller itself, may act for the named owner.

        Raises:
            UnauthenticatedError: The grant is invalid.
        """
        identity = caller().identity
        if _may_act_for(identity, assistant):
            return assistant
        if grant:
            granted = self._grants.verified(grant)
            if (granted.owner, granted.organization) == (assistant.owner, assistant.organization):
                return assistant
        own = Assistant()
        own.CopyFrom(assistant)
        own.owner, own.organization = identity.subject, identity.organization
        return own

    def checked_context(self, context: pb.RunContext) -> pb.RunContext:
        """Return a context whose assistant is `checked`."""
        assistant = self.checked(context.assistant, context.grant)
        if assistant is context.assistant:
            return context
        own = pb.RunContext()
        own.CopyFrom(context)
        own.assistant.CopyFrom(assistant)
        return own


def _may_act_for(identity: Identity, assistant: Assistant) -> bool:
    if may_administer(identity) or SERVICE in identity.scopes:
        return True
    at_home = (assistant.organization or DEFAULT_ORGANIZATION) == home(identity)
    return at_home and assistant.owner == identity.subject
