"""Decides whether a tool with side effects runs, needs the user's confirmation, or is refused."""

from heddle.assistant.v1 import assistant_pb2
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import PermissionDeniedError
from heddle_runtime.rpc.organization_settings import OrganizationSettings

from heddle_tools_service.contract.conversation import Conversation
from heddle_tools_service.providers.owner_settings import settings_of

_UNAVAILABLE = "Tools that change something cannot be used now:"
_RUN, _ASK, _NEVER = (
    assistant_pb2.CHANGE_POLICY_RUN,
    assistant_pb2.CHANGE_POLICY_ASK,
    assistant_pb2.CHANGE_POLICY_NEVER,
)


async def change_policy(
    settings: OrganizationSettings | None,
    effect: pb.ToolEffect.ValueType,
    invocation: pb.ToolInvocation,
    conversation: Conversation,
    *,
    called: bool = True,
) -> assistant_pb2.ChangePolicy.ValueType:
    """Return the stricter of the policies of a binding and of its organisation.

    Args:
        settings: The settings of organisations. None: they have no policies.
        effect: The change that a call can make.
        invocation: The tool, with the policy of its binding.
        conversation: Names the assistant whose organisation counts.
        called: Whether a model or the routing agent calls the tool; else it fills a slot.

    Raises:
        ToolUnavailableError: The account service does not answer.
    """
    if effect == pb.TOOL_EFFECT_READ_ONLY:
        return _RUN
    organization = await settings_of(settings, conversation.assistant, _UNAVAILABLE)
    # That a tool fills a slot is the author's decision, not that of a text which a model reads.
    default = _ASK if called and effect != pb.TOOL_EFFECT_NON_DESTRUCTIVE else _RUN
    return max(invocation.on_change or default, organization.on_change)


def refuse(invocation: pb.ToolInvocation, policy: assistant_pb2.ChangePolicy.ValueType) -> None:
    """Refuse a call that the policy forbids, or that the user cannot confirm.

    Raises:
        PermissionDeniedError: It must not, or the user cannot.
    """
    if policy == _NEVER:
        raise PermissionDeniedError(
            f"The tool {invocation.name!r} changes something, which is not allowed here. "
            "`on_change` of the assistant or of its organisation can allow it."
        )
    if policy == _ASK and not invocation.HasField("function_call"):
        raise PermissionDeniedError(
            f"The tool {invocation.name!r} changes something, and the user cannot confirm that "
            "before the model. Bind it in another mode, or set its `on_change` to `run`."
        )
