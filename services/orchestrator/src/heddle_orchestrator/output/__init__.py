"""Removes links and images to foreign hosts from answers. See docs/adr/0083."""
