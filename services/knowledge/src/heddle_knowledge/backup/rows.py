"""Rows that a backup reads and writes."""

from collections.abc import Mapping
from typing import Any

Row = Mapping[str, Any]
