"""Code that all services share: servers, channels, errors, logs and settings."""

import os

from heddle_runtime.optional_packages import hidden_packages, hide_parts

# Before grpc is imported: it writes lines to stderr itself, past Python. Heddle logs its errors.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
hide_parts()
with hidden_packages():
    import structlog  # noqa: F401 - loaded here, before any other module does it
