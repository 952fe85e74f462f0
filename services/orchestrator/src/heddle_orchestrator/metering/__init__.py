"""Counts the tokens of answers, records them in the usage service, and checks quotas."""
