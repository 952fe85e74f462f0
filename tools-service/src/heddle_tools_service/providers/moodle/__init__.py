"""Moodle, by its web services: whose site, whose account, and what it tells."""
