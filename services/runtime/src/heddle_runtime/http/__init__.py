"""HTTP clients, and the addresses that they may reach."""
