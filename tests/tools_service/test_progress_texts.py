"""The studio knows what built-in tools write about their progress, and translates it."""

import ast
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import heddle_tools_service.tools

PHRASES = Path(__file__).parents[2] / "studio/src/lib/answers/progress.ts"
TOOLS = Path(str(files(heddle_tools_service.tools)))


def patterns() -> list[re.Pattern[str]]:
    """Return what the studio recognises."""
    expressions = re.findall(r"/(\^.+)/,\s+\"answer\.", PHRASES.read_text())
    return [re.compile(each.replace("(?<", "(?P<")) for each in expressions]


def lines_of(tree: ast.AST) -> Iterator[str]:
    """Yield the lines of progress of a tool, with `7` for what is known only when it runs."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="status"), args=[line]):
                yield from texts(line)
            case _:
                pass


def texts(line: ast.expr) -> Iterator[str]:
    match line:
        case ast.Constant(str(text)):
            yield text
        case ast.JoinedStr(parts):
            yield "".join(
                str(each.value) if isinstance(each, ast.Constant) else "7" for each in parts
            )
        case ast.IfExp(_, one, other):
            yield from texts(one)
            yield from texts(other)
        case _:
            raise AssertionError(ast.unparse(line))


def test_the_studio_has_a_text_for_each_line_of_progress() -> None:
    lines = {line for path in TOOLS.glob("*.py") for line in lines_of(ast.parse(path.read_text()))}

    assert len(lines) > 20
    assert [each for each in lines if not any(it.search(each) for it in patterns())] == []
