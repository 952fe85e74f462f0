"""Helpers for the contracts: pages, enumerations, structs, messages, audit events."""
