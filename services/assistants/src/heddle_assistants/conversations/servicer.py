"""`heddle.conversation.v1.ConversationService`."""

from heddle.conversation.v1 import conversation_pb2 as pb
from heddle.conversation.v1 import conversation_pb2_grpc as pb_grpc
from heddle_runtime.identity.call_metadata import Context

from heddle_assistants.conversations.answers import Answers
from heddle_assistants.conversations.store import Conversations


class ConversationServicer(pb_grpc.ConversationServiceServicer):
    """Translates between the contract and the tables."""

    def __init__(self, conversations: Conversations, answers: Answers) -> None:
        self._conversations = conversations
        self._answers = answers

    async def CreateConversation(
        self, request: pb.CreateConversationRequest, context: Context
    ) -> pb.CreateConversationResponse:
        """Store a new conversation."""
        created = await self._conversations.create(request.conversation, request.items)
        return pb.CreateConversationResponse(conversation=created)

    async def GetConversation(
        self, request: pb.GetConversationRequest, context: Context
    ) -> pb.GetConversationResponse:
        """Return a conversation."""
        return pb.GetConversationResponse(conversation=await self._conversations.get(request.id))

    async def ListConversations(
        self, request: pb.ListConversationsRequest, context: Context
    ) -> pb.ListConversationsResponse:
        """List and search conversations."""
        shown, token = await self._conversations.page(request)
        return pb.ListConversationsResponse(conversations=shown, next_page_token=token)

    async def UpdateConversation(
        self, request: pb.UpdateConversationRequest, context: Context
    ) -> pb.UpdateConversationResponse:
        """Change members of a conversation."""
        changed = await self._conversations.change(request)
        return pb.UpdateConversationResponse(conversation=changed)

    async def DeleteConversation(
        self, request: pb.DeleteConversationRequest, context: Context
    ) -> pb.DeleteConversationResponse:
        """Delete a conversation."""
        await self._conversations.delete(request.id)
        return pb.DeleteConversationResponse()

    async def CreateItems(
        self, request: pb.CreateItemsRequest, context: Context
    ) -> pb.CreateItemsResponse:
        """Add items."""
        items = await self._conversations.add_items(request.conversation, request.items)
        return pb.CreateItemsResponse(items=items)

    async def ListItems(
        self, request: pb.ListItemsRequest, context: Context
    ) -> pb.ListItemsResponse:
        """List items."""
        items, has_more = await self._conversations.items(request)
        return pb.ListItemsResponse(items=items, has_more=has_more)

    async def DeleteItem(
        self, request: pb.DeleteItemRequest, context: Context
    ) -> pb.DeleteItemResponse:
        """Delete an item."""
        rest = await self._conversations.delete_item(request.conversation, request.id)
        return pb.DeleteItemResponse(conversation=rest)

    async def UpdateFeedback(
        self, request: pb.UpdateFeedbackRequest, context: Context
    ) -> pb.UpdateFeedbackResponse:
        """Replace the feedback on an item."""
        return pb.UpdateFeedbackResponse(feedback=await self._conversations.rate(request))

    async def GetContext(
        self, request: pb.GetContextRequest, context: Context
    ) -> pb.GetContextResponse:
        """Return what precedes a turn."""
        return await self._answers.context(request)

    async def PutResponse(
        self, request: pb.PutResponseRequest, context: Context
    ) -> pb.PutResponseResponse:
        """Store a response."""
        return await self._answers.put(request)

    async def GetResponse(
        self, request: pb.GetResponseRequest, context: Context
    ) -> pb.GetResponseResponse:
        """Return a response."""
        return await self._answers.get(request.id, with_events=request.with_events)

    async def DeleteResponse(
        self, request: pb.DeleteResponseRequest, context: Context
    ) -> pb.DeleteResponseResponse:
        """Delete a response."""
        await self._answers.delete(request.id)
        return pb.DeleteResponseResponse()
