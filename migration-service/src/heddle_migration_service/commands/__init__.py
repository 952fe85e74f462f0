"""Commands that this package adds to `heddle`."""
