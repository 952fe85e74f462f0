"""The checks of `heddle doctor`."""
