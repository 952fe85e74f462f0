"""The calls of `heddle.account.v1.AccountService` about passwords and sessions."""

from dataclasses import dataclass

from heddle.account.v1 import account_pb2 as pb
from heddle.account.v1 import account_pb2_grpc as pb_grpc
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.identity.call_metadata import Context, caller
from heddle_runtime.identity.permissions import require_service

from heddle_assistants.accounts.checks import check_new_user, check_own, check_user
from heddle_assistants.accounts.sign_in.first_operator import FirstOperator
from heddle_assistants.accounts.sign_in.passwords import Passwords
from heddle_assistants.accounts.sign_in.sessions import Sessions
from heddle_assistants.accounts.sign_in.signing_in import SignIn
from heddle_assistants.audit.log import AuditLog


@dataclass(eq=False, slots=True)
class SignInServicer(pb_grpc.AccountServiceServicer):
    """Translates between the contract and the tables."""

    audit: AuditLog
    sessions: Sessions
    sign_in: SignIn
    passwords: Passwords
    first_operator: FirstOperator

    async def SignIn(self, request: pb.SignInRequest, context: Context) -> pb.SignInResponse:
        """Start a session with a password."""
        require_service(caller().identity)
        session, token = await self.sign_in.with_password(request)
        return pb.SignInResponse(session=session, token=token)

    async def GetSetup(self, request: pb.GetSetupRequest, context: Context) -> pb.GetSetupResponse:
        """Return whether the first operator can make an account."""
        require_service(caller().identity)
        return pb.GetSetupResponse(operator_missing=await self.first_operator.is_missing())

    async def CreateFirstOperator(
        self, request: pb.CreateFirstOperatorRequest, context: Context
    ) -> pb.CreateFirstOperatorResponse:
        """Make the account of the first operator."""
        require_service(caller().identity)
        check_user(pb.PutUserRequest(email=request.email, name=request.name))
        await self.first_operator.create(request)
        return pb.CreateFirstOperatorResponse()

    async def SignInWithProvider(
        self, request: pb.SignInWithProviderRequest, context: Context
    ) -> pb.SignInWithProviderResponse:
        """Start a session of an address that an identity provider has verified."""
        require_service(caller().identity)
        check_new_user(request)
        session, token = await self.sign_in.with_provider(request)
        return pb.SignInWithProviderResponse(session=session, token=token)

    async def ResolveSession(
        self, request: pb.ResolveSessionRequest, context: Context
    ) -> pb.ResolveSessionResponse:
        """Return the session of a token."""
        require_service(caller().identity)
        stored = await self.sign_in.resolve(request.token)
        return pb.ResolveSessionResponse(session=self.sessions.message(stored))

    async def SwitchSession(
        self, request: pb.SwitchSessionRequest, context: Context
    ) -> pb.SwitchSessionResponse:
        """Replace a session by one in another organisation."""
        require_service(caller().identity)
        session, token = await self.sign_in.switch(request.token, request.organization)
        return pb.SwitchSessionResponse(session=session, token=token)

    async def EndSession(
        self, request: pb.EndSessionRequest, context: Context
    ) -> pb.EndSessionResponse:
        """End a session, or all of its user."""
        require_service(caller().identity)
        ended = await self.sign_in.end(request.token, everywhere=request.everywhere)
        return pb.EndSessionResponse(ended=ended)

    async def SetPassword(
        self, request: pb.SetPasswordRequest, context: Context
    ) -> pb.SetPasswordResponse:
        """Set the caller's own password, or that of another user."""
        identity = caller().identity
        if not request.organization:
            check_own(request.email, identity.subject)
            await self.passwords.change_own(request, identity)
            return pb.SetPasswordResponse()
        async with self.audit.attempt("user.password", request.email):
            password = await self.passwords.reset(request, identity)
        return pb.SetPasswordResponse(password=password)

    async def ListMemberships(
        self, request: pb.ListMembershipsRequest, context: Context
    ) -> pb.ListMembershipsResponse:
        """List the memberships of an address in organisations."""
        require_service(caller().identity)
        rows = await self.sign_in.memberships(canonical_email(request.email))
        return pb.ListMembershipsResponse(
            memberships=[
                pb.Membership(
                    organization=row.organization,
                    organization_name=row.organization_name,
                    role=row.role,
                    name=row.name,
                    home=row.home,
                )
                for row in rows[:_MAX_SHOWN]
                if row.usable
            ]
        )


_MAX_SHOWN = 1000
