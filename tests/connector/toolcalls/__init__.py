"""Tests of the reader of tool calls."""
