"""What every Heddle service shares: serving, calling, failing, logging, settings."""
