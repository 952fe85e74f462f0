"""`heddle.group.v1.GroupService`."""

from heddle.group.v1 import group_pb2 as pb
from heddle.group.v1 import group_pb2_grpc as pb_grpc
from heddle_runtime.identity.call_metadata import Context, caller

from heddle_assistants.groups.members import Members
from heddle_assistants.groups.store import Groups


class GroupServicer(pb_grpc.GroupServiceServicer):
    """Translates between the contract and the tables."""

    def __init__(self, groups: Groups, members: Members) -> None:
        self._groups = groups
        self._members = members

    async def CreateGroup(
        self, request: pb.CreateGroupRequest, context: Context
    ) -> pb.CreateGroupResponse:
        """Store a new group."""
        group, etag = await self._groups.create(request.group, caller().identity)
        return pb.CreateGroupResponse(group=group, etag=etag)

    async def GetGroup(self, request: pb.GetGroupRequest, context: Context) -> pb.GetGroupResponse:
        """Return a group."""
        group, etag = await self._groups.get(request.id, caller().identity)
        return pb.GetGroupResponse(group=group, etag=etag)

    async def ListGroups(
        self, request: pb.ListGroupsRequest, context: Context
    ) -> pb.ListGroupsResponse:
        """List groups."""
        groups, token = await self._groups.page(request, caller().identity)
        return pb.ListGroupsResponse(groups=groups, next_page_token=token)

    async def UpdateGroup(
        self, request: pb.UpdateGroupRequest, context: Context
    ) -> pb.UpdateGroupResponse:
        """Replace a group."""
        group, etag = await self._groups.update(request.group, request.etag, caller().identity)
        return pb.UpdateGroupResponse(group=group, etag=etag)

    async def DeleteGroup(
        self, request: pb.DeleteGroupRequest, context: Context
    ) -> pb.DeleteGroupResponse:
        """Delete a group."""
        await self._groups.delete(request.id, caller().identity)
        return pb.DeleteGroupResponse()

    async def ListMembers(
        self, request: pb.ListMembersRequest, context: Context
    ) -> pb.ListMembersResponse:
        """List members."""
        members, token = await self._members.page(request, caller().identity)
        return pb.ListMembersResponse(members=members, next_page_token=token)

    async def AddMembers(
        self, request: pb.AddMembersRequest, context: Context
    ) -> pb.AddMembersResponse:
        """Add members."""
        added = await self._members.add(request.id, request.emails, caller().identity)
        return pb.AddMembersResponse(added=added)

    async def RemoveMember(
        self, request: pb.RemoveMemberRequest, context: Context
    ) -> pb.RemoveMemberResponse:
        """Remove a member."""
        await self._members.remove(request.group, request.email, caller().identity)
        return pb.RemoveMemberResponse()

    async def CreateJoiningCode(
        self, request: pb.CreateJoiningCodeRequest, context: Context
    ) -> pb.CreateJoiningCodeResponse:
        """Replace a code."""
        code = await self._members.make_code(request, caller().identity)
        return pb.CreateJoiningCodeResponse(code=code)

    async def DeleteJoiningCode(
        self, request: pb.DeleteJoiningCodeRequest, context: Context
    ) -> pb.DeleteJoiningCodeResponse:
        """Delete a code."""
        await self._members.delete_code(request.id, caller().identity)
        return pb.DeleteJoiningCodeResponse()

    async def JoinGroup(
        self, request: pb.JoinGroupRequest, context: Context
    ) -> pb.JoinGroupResponse:
        """Join a group."""
        group = await self._members.join(request.code, caller().identity)
        return pb.JoinGroupResponse(group=group)
