"""Launches from learning platforms: LTI 1.1 at LAMB's paths, for links that exist, and LTI 1.3.

`importing` takes LAMB's keys and activities over. `launches` lets a verified person in.
"""
