"""Reads Moodle by its web services: the site, the caller's account, and the account's data."""
