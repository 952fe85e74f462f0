"""The groups of learners that links of learning platforms fill."""

from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TypeVar

import grpc
from google.protobuf.message import Message
from heddle.group.v1 import group_pb2 as pb
from heddle.group.v1.group_pb2_grpc import GroupServiceAsyncStub
from heddle_runtime.errors import NotFoundError, from_rpc
from heddle_runtime.identity.call_metadata import calling_as, new_call_options, on_behalf_of
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.permissions import scopes_of

from heddle_migration_service.lti.stored_links import Course, Link, LtiTexts

_SECONDS = 30.0
_ACTOR = "lti"
MAX_ADDED = 1000
"""The maximum number of members that are added together."""
_MAX_TITLE = 200
ResponseT = TypeVar("ResponseT")


@dataclass(frozen=True, slots=True)
class Courses:
    """Makes and fills groups, as an administrator of their organisation."""

    stub: GroupServiceAsyncStub
    texts: LtiTexts

    async def group(self, link: Link, teacher: str, *parts: str) -> pb.Group:
        """Return the group of a link or course, which is made if there is none.

        Args:
            link: Its assistants become those of the group, too.
            teacher: Who teaches a new one.
            parts: They identify the link or the course.
        """
        known, organization = await self.texts.get(Course, *parts), link.organization
        if known:
            with suppress(NotFoundError):  # a teacher has deleted it
                request = pb.GetGroupRequest(id=known.group)
                group = (await self._call(organization, self.stub.GetGroup, request)).group
                return await self._with_assistants(group, link)
        title = link.title.strip()[:_MAX_TITLE] or "Learners of a course"
        new = pb.Group(title=title, teachers=[teacher], assistants=link.assistants)
        creation = pb.CreateGroupRequest(group=new)
        group = (await self._call(organization, self.stub.CreateGroup, creation)).group
        if await self.texts.put(Course(group.id), *parts, only_new=known is None):
            return group
        deletion = pb.DeleteGroupRequest(id=group.id)  # another launch was first
        await self._call(organization, self.stub.DeleteGroup, deletion)
        return await self.group(link, teacher, *parts)

    async def add(self, group: pb.Group, emails: Sequence[str]) -> None:
        """Let addresses be members of a group."""
        request = pb.AddMembersRequest(id=group.id, emails=emails)
        await self._call(group.organization, self.stub.AddMembers, request)

    async def keep(self, group: pb.Group, emails: Collection[str]) -> None:
        """Remove the members of a group who are not among `emails`."""
        gone, token, organization = list[str](), "", group.organization
        while True:
            request = pb.ListMembersRequest(id=group.id, page_size=MAX_ADDED, page_token=token)
            page = await self._call(organization, self.stub.ListMembers, request)
            gone += [each.email for each in page.members if each.email not in emails]
            if not (token := page.next_page_token):
                break
        for email in gone:
            removal = pb.RemoveMemberRequest(group=group.id, email=email)
            await self._call(organization, self.stub.RemoveMember, removal)

    async def _with_assistants(self, group: pb.Group, link: Link) -> pb.Group:
        missing = [each for each in link.assistants if each not in group.assistants]
        if not missing:
            return group
        group.assistants.extend(missing)
        request = pb.UpdateGroupRequest(group=group)
        return (await self._call(link.organization, self.stub.UpdateGroup, request)).group

    async def _call(
        self, organization: str, method: Callable[..., Awaitable[ResponseT]], request: Message
    ) -> ResponseT:
        with acting(_ACTOR, organization, "admin"):
            try:
                return await method(request, **new_call_options(_SECONDS))
            except grpc.aio.AioRpcError as error:
                raise from_rpc(error) from error


@contextmanager
def acting(subject: str, organization: str, role: str) -> Iterator[None]:
    """Make the calls of a block as a user with a role."""
    with calling_as(on_behalf_of(Identity(subject, organization, scopes_of(role)))):
        yield
