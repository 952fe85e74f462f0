"""The link with which the first operator makes an account.

Its secret is made of the secret that the services share, so that each of them, and the command of
the operator, can tell it. It is good for one account.
"""

import hashlib
import hmac

from pydantic import SecretStr

from heddle_runtime.identity.secrets import split_secrets

_PURPOSE = b"heddle: account of the first operator"


def setup_secret(identity_secret: SecretStr) -> str:
    """Return the secret of the link, of 160 bits."""
    current = split_secrets(identity_secret.get_secret_value())[0]
    return hmac.new(current.encode(), _PURPOSE, hashlib.sha256).hexdigest()[:40]


def setup_link(studio: str, identity_secret: SecretStr) -> str:
    """Return the link below the address of the studio. Browsers do not send what follows the #."""
    return f"{studio.rstrip('/')}/setup#{setup_secret(identity_secret)}"
