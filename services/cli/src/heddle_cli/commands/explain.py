"""`heddle explain`."""

from typing import Annotated

import typer
from heddle_runtime.errors import NotFoundError
from heddle_runtime.errors.guide import anchor, explanations

from heddle_cli.terminal import out


def explain(
    reason: Annotated[str, typer.Argument(help="The reason, for example `not-found`.")],
) -> None:
    """Print what an error means, its usual causes, and what to do."""
    known = {anchor(each): each for each in explanations()}
    name = known.get(anchor(reason))
    if name is None:
        raise NotFoundError(f"There is no reason {reason!r}, only {', '.join(known)}.")
    explanation = explanations()[name]
    out.print(f"{name}: {explanation.meaning}")
    for title, texts in (
        ("Usual causes", explanation.causes),
        ("What to do", explanation.remedies),
    ):
        out.print(f"\n{title}:")
        for text in texts:
            out.print(f"- {text}")
