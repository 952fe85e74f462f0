"""The faults that can be planted in a function."""

import ast
import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Fault:
    """The text that takes the place of a part of a file."""

    file: Path
    function: str
    first_line: int
    """The line at which the function begins, its decorators included."""
    node: ast.expr | ast.stmt
    text: str

    @property
    def title(self) -> str:
        place = f"{self.file.name}:{self.node.lineno} {self.function}"
        return f"{place}: {ast.unparse(self.node)} -> {self.text}"

    def planted(self) -> str:
        """Return the text of the file with the fault."""
        lines = self.file.read_bytes().splitlines(keepends=True)
        begin = sum(map(len, lines[: self.node.lineno - 1])) + self.node.col_offset
        assert self.node.end_lineno is not None
        assert self.node.end_col_offset is not None
        end = sum(map(len, lines[: self.node.end_lineno - 1])) + self.node.end_col_offset
        source = b"".join(lines)
        return (source[:begin] + self.text.encode() + source[end:]).decode()


def functions(file: Path) -> Iterator[tuple[Function, int]]:
    """Yield each function of a file, and the line at which it begins."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, Function):
            yield node, min([node.lineno, *(each.lineno for each in node.decorator_list)])


def fault(file: Path, function: Function, first_line: int, draw: random.Random) -> Fault | None:
    """Return one of the faults that a function can have, None if there is none for it."""
    found = [
        (node, change)
        for statement in function.body[1 if ast.get_docstring(function) else 0 :]
        for node in _own_nodes(statement)
        if isinstance(node, (ast.expr, ast.stmt))
        for change in _changes(node)
    ]
    if not found:
        return None
    node, change = draw.choice(found)
    text = change()
    if isinstance(node, ast.expr):
        text = f"({text})"
    return Fault(file, function.name, first_line, node, text)


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and those below it, without functions in it and what only formats a text."""
    if isinstance(node, (*Function.__args__, ast.ClassDef, ast.Lambda, ast.JoinedStr)):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _own_nodes(child)


def _changes(node: ast.AST) -> Iterator[Callable[[], str]]:
    match node:
        case ast.Compare(ops=[comparison]) if opposite := _OPPOSITES.get(type(comparison)):
            yield lambda: _with(node, ops=[opposite()])
        case ast.BoolOp(op=operator):
            other = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield lambda: _with(node, op=other)
        case ast.UnaryOp(op=ast.Not()):
            yield lambda: ast.unparse(node.operand)
        case ast.BinOp(op=ast.Add()):
            yield lambda: _with(node, op=ast.Sub())
        case ast.IfExp():
            yield lambda: _with(node, body=node.orelse, orelse=node.body)
        case ast.Constant(value=bool(value)):
            yield lambda: str(not value)
        case ast.Constant(value=int(number)):
            yield lambda: str(number + 1)
        case ast.Return(value=ast.expr() as returned) if ast.unparse(returned) != "None":
            yield lambda: "return None"
        case ast.Raise() | ast.Expr(value=ast.Call() | ast.Await()):
            yield lambda: "pass"
        case _:
            return


def _with(node: ast.AST, **fields: object) -> str:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return ast.unparse(changed)
