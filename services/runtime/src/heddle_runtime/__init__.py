"""Code that all services share: servers, channels, errors, logs and settings."""

import os

# Before grpc is imported: it writes lines to stderr itself, past Python. Heddle logs its errors.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
