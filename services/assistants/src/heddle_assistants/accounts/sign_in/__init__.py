"""Users of the studio: their passwords, and the sessions that they start and end.

See docs/adr/0089.
"""
