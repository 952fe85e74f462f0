"""Authentication: API keys, the principals they stand for, and impersonation."""
