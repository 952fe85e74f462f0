"""The errors about organisations and their providers."""

from heddle_runtime.errors import NotFoundError, NotSetUpError, UnavailableError


def no_organization(slug: str) -> NotFoundError:
    """Return the error about an organisation that is missing, or must seem so."""
    return NotFoundError(f"No organisation is named {slug[:200]!r}.", organization=slug[:200])


def not_set_up(connector: str) -> UnavailableError:
    """Return the error about a provider that an organisation has not set up."""
    return UnavailableError(
        f"Your organisation has not set up the provider {connector!r}. Ask its administrator.",
        diagnosis=f"Set providers.{connector} in the organisation's settings, or share the "
        "operator's providers with HEDDLE_CONNECTOR_SHARE_PROVIDERS.",
    )


def not_available(connector: str) -> NotSetUpError:
    """Return the error about a connector that only the operator's organisation can use."""
    return NotSetUpError(
        f"The connector {connector!r} is not available to organisations. Choose a model of another "
        "connector, or ask the operator.",
        connector=connector,
        diagnosis="The connector does not declare which settings an organisation supplies. Its "
        "author marks them with FromOrganization, or declares it for_all_organizations.",
    )
