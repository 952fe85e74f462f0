"""The messages of a public suite for parsers of tool calls, of many models and engines."""

from collections.abc import Iterator
from typing import Any

import pytest
from canitoolcall.fixtures import load_fixtures
