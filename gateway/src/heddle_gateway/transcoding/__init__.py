"""Serves methods of the contracts as REST routes, by their `google.api.http` options."""
