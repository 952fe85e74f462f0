"""Code that all services share: servers, channels, errors, logs and settings."""
