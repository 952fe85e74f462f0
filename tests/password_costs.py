"""How much the hash of a password costs: little in tests, of which hundreds check passwords."""

import pytest
from argon2 import PasswordHasher
from heddle_assistants.accounts.sign_in import password_hashes

_REAL = {name: vars(password_hashes)[name] for name in ("_HASHER", "_DECOY")}


def make_cheap() -> None:
    """Let hashes of this process cost nothing."""
    cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    patch = pytest.MonkeyPatch()
    patch.setattr(password_hashes, "_HASHER", cheap)
    patch.setattr(password_hashes, "_DECOY", cheap.hash("of nobody"))


def make_real(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let hashes cost what they do in a service, until the test ends."""
    for name, value in _REAL.items():
        monkeypatch.setattr(password_hashes, name, value)
