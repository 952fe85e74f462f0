"""The operator's `heddle` command."""
