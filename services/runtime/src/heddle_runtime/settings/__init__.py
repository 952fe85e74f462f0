"""Settings that services have in common: addresses, secrets, certificates."""
