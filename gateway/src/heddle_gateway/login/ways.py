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
    lamb: bool = Field(description="`POST /login` accepts the passwords of LAMB's users, too.")


def sign_in_ways(state: State) -> SignInWays:
    """Return the ways of signing in that a gateway offers."""
    providers = (each.configuration for each in state.providers.values())
    return SignInWays(
        password=state.settings.password_login or state.lamb is not None,
        oidc=[Provider(id=each.id, title=each.title) for each in providers],
        lamb=state.lamb is not None,
    )
