"""Code that all services share: servers, channels, errors, logs and settings."""

import os

from heddle_runtime.optional_packages import hidden_packages, hide_parts

# Before grpc is imported: it writes lines to stderr itself, past Python. Heddle logs its errors.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
# Heddle forks only to run other programs. The handlers of gRPC crash such a child now and then.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
hide_parts()
with hidden_packages():
    import structlog  # noqa: F401 - loaded here, before any other module does it
