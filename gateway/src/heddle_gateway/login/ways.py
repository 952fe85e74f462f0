"""The ways of signing in that a gateway offers."""

from pydantic import Field

from heddle_gateway.http.models import Model
from heddle_gateway.state import State


class Provider(Model):
    """An identity provider."""

    id: str = Field(description="Sign in at `/login/oidc/{id}`, with a browser.")
    title: str = Field(description="Its name for people.")


class SignInWays(Model):
    """The ways of signing in."""

    password: bool = Field(description="`POST /login` with an e-mail address and a password.")
    oidc: list[Provider] = Field(description="Identity providers with OpenID Connect.")
    other_system: str | None = Field(
        description="The name of a system whose users' passwords `POST /login` accepts, too."
    )


class OfferedWays(SignInWays):
    """The ways of signing in, for who has not signed in yet."""

    setup: bool = Field(
        description="Whether the operator's account is yet to be made, with the link that Heddle "
        "prints when it starts."
    )


def sign_in_ways(state: State) -> SignInWays:
    """Return the ways of signing in that a gateway offers."""
    providers = (each.configuration for each in state.providers.values())
    return SignInWays(
        password=state.settings.password_login or state.other_system is not None,
        oidc=[Provider(id=each.id, title=each.title) for each in providers],
        other_system=state.other_system.title if state.other_system else None,
    )
