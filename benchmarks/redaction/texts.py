"""The texts of the suite: forms from providers' documentation, filled with random characters."""

import random
import re
import string
import uuid
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

_FOLDER = Path(__file__).parent
_CLASS = re.compile(r"<([Alubwhadxcjg U])(\d*)>")
_ESCAPE = re.compile(r"\\[net]|\\\\")
_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\e": "\x1b", r"\\": "\\"}
_SECRET = re.compile("«(.*?)»", re.DOTALL)
_PIECES = re.compile(r"(?:\n|\\+n|\x1b\[[0-9;]*m)")
_MIN_PIECE = 5
_ALPHABETS = {
    "A": string.ascii_letters + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "u": string.ascii_uppercase + "234567",
    "U": string.ascii_uppercase + string.digits,
    "b": string.ascii_letters + string.digits + "+/",
    "w": string.ascii_letters + string.digits + "-_",
    "h": "0123456789abcdef",
    "d": string.digits,
    "a": string.ascii_lowercase,
    "x": string.ascii_letters,
}
_ON_A_LINE = {"assemblyai", "yaml word", "pgpass", "signs in a line"}
"""Forms of settings that are recognised because they fill a line."""
_CONTEXTS = (
    "the key «{}» is refused",
    '{{"error": {{"message": "Incorrect key «{}».", "code": 401}}}}',
    "line 1\\n«{}»\\nline 2",
    "\x1b[31m«{}»\x1b[0m",
)


@dataclass(frozen=True, slots=True)
class SecretText:
    """A text, and the secrets in it that must be gone."""

    name: str
    text: str
    secrets: tuple[str, ...]


def secret_texts(seed: int, repetitions: int) -> Iterator[SecretText]:
    """Yield texts with secrets."""
    generator = random.Random(seed)  # noqa: S311 - for reproducible texts
    for _ in range(repetitions):
        for line in _lines("formats.txt"):
            name, _, form = line.partition("\t")
            for context in _CONTEXTS:
                yield _secret_text(name, context.format(_filled(form, generator)))
            yield _percent_encoded(_secret_text(name, f"«{_filled(form, generator)}»"))
        for line in _lines("settings.txt"):
            name, _, form = line.partition("\t")
            text = _secret_text(name, _filled(_unescaped(form), generator))
            yield text
            if name not in _ON_A_LINE and "\\e" not in form and "x1b" not in form:
                yield _percent_encoded(text)


def clean_texts(seed: int) -> Iterator[str]:
    """Yield texts without a secret."""
    generator = random.Random(seed)  # noqa: S311 - for reproducible texts
    for line in _lines("clean.txt"):
        yield _filled(_unescaped(line), generator)


def _secret_text(name: str, marked: str) -> SecretText:
    pieces = [piece for secret in _SECRET.findall(marked) for piece in _PIECES.split(secret)]
    secrets = tuple(piece for piece in pieces if len(piece) >= _MIN_PIECE)
    return SecretText(name, marked.replace("«", "").replace("»", ""), secrets)


def _percent_encoded(text: SecretText) -> SecretText:
    """Return a request whose query holds the text."""
    query = f"GET /go?to={quote(text.text, safe='')}&x=1"
    secrets = tuple(quote(secret, safe="") for secret in text.secrets)
    return SecretText(f"{text.name}, percent-encoded", query, secrets)


def _lines(name: str) -> Iterator[str]:
    for line in (_FOLDER / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("# "):
            yield line


def _unescaped(line: str) -> str:
    return _ESCAPE.sub(lambda match: _ESCAPES[match[0]], line)


def _filled(form: str, generator: random.Random) -> str:
    return _CLASS.sub(lambda match: _random(match[1], int(match[2] or 0), generator), form)


def _random(kind: str, length: int, generator: random.Random) -> str:
    match kind:
        case "g":
            return str(uuid.UUID(int=generator.getrandbits(128), version=4))
        case "c":
            return b64encode(f"ana:{_random('A', 12, generator)}".encode()).decode()
        case "j":
            parts = ['{"alg":"HS256","typ":"JWT"}', f'{{"sub":"{generator.random()}"}}']
            encoded = [urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts]
            return ".".join([*encoded, _random("w", 43, generator)])
        case _:
            return "".join(generator.choices(_ALPHABETS[kind], k=length))
