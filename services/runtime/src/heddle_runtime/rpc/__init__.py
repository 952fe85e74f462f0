"""Calls between services: channels, interceptors, deadlines, cached responses."""
