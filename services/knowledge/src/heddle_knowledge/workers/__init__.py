"""Processes that do the heavy work beside a service, and how it talks to them."""
