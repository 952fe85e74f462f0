"""Compares a running LAMB with the same LAMB behind Heddle, route by route."""
