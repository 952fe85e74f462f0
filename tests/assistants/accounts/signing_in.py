"""Users who sign in to the account service."""

from typing import Any

from assistants.accounts.conftest import ADMIN, ANN, SERVICE, Accounts
from google.protobuf.message import Message
from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.identity.callers import Identity

PASSWORD = "correct horse battery"
OTHER_PASSWORD = "staple in another stable"


async def set_password(
    accounts: Accounts,
    user: Identity = ANN,
    password: str = PASSWORD,
    *,
    by: Identity = ADMIN,
) -> pb.SetPasswordResponse:
    """Set the password of a user of an organisation."""
    request = pb.SetPasswordRequest(
        email=user.subject, organization=user.organization, password=password
    )
    response = await accounts.call("SetPassword", request, by)
    assert isinstance(response, pb.SetPasswordResponse)
    return response


async def sign_in(
    accounts: Accounts, user: Identity = ANN, password: str = PASSWORD, **fields: Any
) -> pb.SignInResponse:
    """Sign a user in."""
    request = pb.SignInRequest(email=user.subject, password=password, **fields)
    response = await accounts.call("SignIn", request, SERVICE)
    assert isinstance(response, pb.SignInResponse)
    return response


async def session(accounts: Accounts, token: str) -> pb.Session:
    """Return the session of a token."""
    response: pb.ResolveSessionResponse = await _of_service(
        accounts, "ResolveSession", pb.ResolveSessionRequest(token=token)
    )
    return response.session


async def switch(accounts: Accounts, token: str, organization: str) -> pb.SwitchSessionResponse:
    """Switch a session to another organisation."""
    request = pb.SwitchSessionRequest(token=token, organization=organization)
    response = await _of_service(accounts, "SwitchSession", request)
    assert isinstance(response, pb.SwitchSessionResponse)
    return response


async def sign_out(accounts: Accounts, token: str, *, everywhere: bool = False) -> int:
    """Sign out, and return how many sessions ended."""
    request = pb.EndSessionRequest(token=token, everywhere=everywhere)
    return int((await _of_service(accounts, "EndSession", request)).ended)


async def from_provider(
    accounts: Accounts, email: str, **fields: Any
) -> pb.SignInWithProviderResponse:
    """Sign in an address that an identity provider has verified."""
    request = pb.SignInWithProviderRequest(email=email, provider="sso", **fields)
    response = await _of_service(accounts, "SignInWithProvider", request)
    assert isinstance(response, pb.SignInWithProviderResponse)
    return response


async def _of_service(accounts: Accounts, method: str, request: Message) -> Any:
    return await accounts.call(method, request, SERVICE)
