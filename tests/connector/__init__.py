"""Tests of the connector service, through its contract."""
