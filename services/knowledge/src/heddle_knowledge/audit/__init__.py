"""Events for the audit log."""
