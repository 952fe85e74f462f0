"""Files on a local disk: locks, durability, SQLite."""
