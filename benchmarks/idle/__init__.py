"""The memory and the start of services that have nothing to do."""
