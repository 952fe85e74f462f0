"""Random valid edits: the file is what a plain model says, and what GNU `patch` makes of diffs."""

import difflib
import random
import shutil
import subprocess
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from heddle_tools_service.capabilities.workspace import Edit, FileEdits
from runtime.examples import sampled
from tools_service.workspace.areas import left_over, waiting, workspace_in

CASES = 1_000
BATCHES = 20
PATCH = shutil.which("patch")
WORDS = (
    *(
        "",
        "",
        "}",
        "return x",
        "\tpass",
        "  indented  ",
        "añb",
        "日本",
        "a\rb",
        "--- a/x",
        "+++ b/x",
    ),
    *(
        "@@ -1 +1 @@",
        "\\ No newline at end of file",
        "-",
        "+",
        "=======",
        "bad \udcff\udce9",
        "\u2028",
    ),
)
MARK = "\ufeff"
Line = tuple[str, str]
Replacement = tuple[int, int, list[str]]


@dataclass
class Case:
    """One file, the edits of it, and what must come of them."""

    path: str
    before: bytes
    edits: tuple[Edit, ...]
    after: bytes
    create: bool


def lines(chance: random.Random, most: int) -> list[str]:
    return [
        chance.choice(WORDS) if chance.random() < 0.7 else f"line {chance.randrange(9)}"
        for _ in range(chance.randrange(most))
    ]


def content(chance: random.Random) -> tuple[str, list[Line]]:
    ends = chance.choice([["\n"], ["\n"], ["\r\n"], ["\n", "\r\n"]])
    made = [(line, chance.choice(ends)) for line in lines(chance, chance.choice([3, 12, 60]))]
    if made and chance.random() < 0.3:
        made[-1] = (made[-1][0] or "end", "")
    return MARK if made and chance.random() < 0.15 else "", made


def replacements(chance: random.Random, total: int) -> list[Replacement]:
    """Return ranges that do not overlap, in order, each with its new lines."""
    cuts = sorted(chance.randrange(total + 1) for _ in range(2 * chance.randrange(1, 5)))
    found: list[Replacement] = []
    for start, stop in zip(cuts[::2], cuts[1::2], strict=True):
        new = lines(chance, 5)
        if start == stop and not new:
            new = ["inserted"]
        if not found or start > found[-1][0] or stop > start:
            found.append((start, stop, new))
    return [each for one, each in pairwise([(-1, -1, []), *found]) if each[0] >= one[1]]


def expected(mark: str, old: list[Line], changes: list[Replacement]) -> bytes:
    """Apply changes as the manual says: ends come from the replaced line, or else a neighbour."""
    rest = [end for _, end in old[:-1]]
    ends = [*rest, old[-1][1] or (rest[-1] if rest else "\n")]
    made = [(line, end) for (line, _), end in zip(old, ends, strict=True)]
    for start, stop, new in reversed(changes):
        inherited = ends[start:stop] or [ends[max(start - 1, 0)]]
        inherited += [inherited[-1]] * len(new)
        made[start:stop] = list(zip(new, inherited, strict=False))
    if made and not old[-1][1] and made[-1][0]:
        made[-1] = (made[-1][0], "")
    return joined(mark if made else "", made)


def joined(mark: str, made: list[Line]) -> bytes:
    return (mark + "".join(map("".join, made))).encode("utf-8", "surrogateescape")


def written(chance: random.Random, new: list[str]) -> str:
    """Write lines as a model would; the end of the last one is a matter of taste."""
    text = "\n".join(new)
    needed = bool(new) and not new[-1]
    return f"{text}\n" if needed or (new and chance.random() < 0.5) else text


def case(chance: random.Random, path: str) -> Case:
    mark, old = content(chance)
    if not old:
        new = f"{chance.choice(['', 'x'])}a\n\nb{chance.choice(['', chr(10), chr(13) + chr(10)])}"
        edit = Edit(new, "", 1, 0)
        return Case(path, b"", (edit,), new.encode(), create=chance.random() < 0.5)
    changes = replacements(chance, len(old))
    edits = [
        Edit(
            written(chance, new),
            "\n".join(line for line, _ in old[start:stop]) if stop > start else "",
            start + 1,
            stop,
        )
        for start, stop, new in changes
    ]
    chance.shuffle(edits)
    after = expected(mark, old, changes)
    return Case(path, joined(mark, old), tuple(edits), after, create=False)


def gnu(folder: Path, cases: list[Case], diff: bytes) -> list[bytes]:
    """Return what GNU patch makes of the files as they were."""
    folder.mkdir()
    for each in cases:
        if not each.create:
            (folder / each.path).parent.mkdir(parents=True, exist_ok=True)
            (folder / each.path).write_bytes(each.before)
    assert PATCH
    done = subprocess.run(  # noqa: S603 - a program of the machine, arguments of this file
        [PATCH, "--binary", "-p1", "--fuzz=0", "--force", "--no-backup-if-mismatch"],
        cwd=folder,
        input=diff,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert b"offset" not in done.stdout
    return [(folder / each.path).read_bytes() for each in cases]


def foreign_diff(each: Case) -> bytes:
    """Return a diff of the standard library's making."""
    old, new = each.before.split(b"\n"), each.after.split(b"\n")
    old, new = (
        [line + b"\n" for line in old[:-1]] + old[-1:],
        [
            *(line + b"\n" for line in new[:-1]),
            *new[-1:],
        ],
    )
    made = difflib.diff_bytes(
        difflib.unified_diff,
        [line for line in old if line],
        [line for line in new if line],
        b"/dev/null" if each.create else f"a/{each.path}\t".encode(),
        f"b/{each.path}\t".encode(),
    )
    return b"".join(
        line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"
        for line in made
    )


@pytest.mark.parametrize("batch", sampled(range(BATCHES), 4))
def test_random_edits_equal_what_gnu_patch_does(tmp_path: Path, batch: int) -> None:
    touched = 0
    for number in range(CASES // BATCHES):
        chance = random.Random(f"{batch}/{number}")  # noqa: S311 - no secret
        folder = tmp_path / str(number)
        folder.mkdir()
        cases = [
            case(chance, path) for path in ("a.txt", "b c/ü.txt", "d.txt")[: chance.randrange(1, 4)]
        ]
        workspace = workspace_in(folder)
        for each in cases:
            if not each.create:
                (folder / "ana" / each.path).parent.mkdir(exist_ok=True)
                (folder / "ana" / each.path).write_bytes(each.before)

        told = workspace.patch(
            [FileEdits(each.path, each.edits, create=each.create) for each in cases], waiting
        )

        after = [(folder / "ana" / each.path).read_bytes() for each in cases]
        assert after == [each.after for each in cases], (batch, number)
        assert left_over(folder) == []
        touched += sum(file.status != "unchanged" for file in told.files)
        if PATCH is None:  # the plain model above is all there is to compare with
            continue
        ours = "".join(file.diff for file in told.files).encode("utf-8", "surrogateescape")
        theirs = b"".join(map(foreign_diff, cases))
        assert gnu(folder / "ours", cases, ours) == after, (batch, number)
        assert gnu(folder / "theirs", cases, theirs) == after, (batch, number)
    assert touched > CASES // BATCHES
