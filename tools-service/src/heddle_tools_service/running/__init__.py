"""Runs tools: time limits, policies, statuses and spans."""
