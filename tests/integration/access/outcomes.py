"""What a call is answered with, depending on who calls."""

from collections.abc import Mapping
from typing import Literal

from integration.access.deployments import Role

Outcome = Literal[
    "200",
    "200 with the content",
    "200 with the prompt",
    "200 without the prompt",
    "200 without anything",
    "400",
    "401",
    "403",
    "404",
    "failed",
]
"""A success says which words of the thing it may have or must have; `200` makes no difference. A
refusal has none of them, and a 404 or a failure is the answer about a thing that does not exist."""
Outcomes = Mapping[Role, Outcome]


def _outcomes(
    owner: Outcome, other: Outcome, member: Outcome, elsewhere: Outcome, nobody: Outcome = "401"
) -> dict[Role, Outcome]:
    return {
        "owner": owner,
        "other user": other,
        "member": member,
        "other organisation": elsewhere,
        "no key": nobody,
    }


OWN = _outcomes("200", "404", "404", "404")
"""Only the owner may, whatever is shared."""
CHANGE = OWN
RUN = _outcomes("200 without the prompt", "404", "200 without the prompt", "404")
"""Those may use it with whom it is shared, and no answer has the prompt."""
DESCRIBE = _outcomes("200 with the content", "404", "200 without the prompt", "404")
READ = _outcomes("200", "404", "200", "404")
"""Those may read it with whom it is shared."""
CHANGE_SHARED = _outcomes("200", "404", "403", "404")
"""Who may read it knows that it exists, and may not change it."""
CHANGE_ENDED = CHANGE_SHARED | {"owner": "400"}
"""Likewise, and what has ended cannot be changed."""
LIST = _outcomes("200", "200 without anything", "200 without the prompt", "200 without anything")
LIST_SHARED = LIST | {"owner": "200 without anything"}
LIST_OWN = LIST | {"member": "200 without anything"}
ALL = _outcomes("200", "200", "200", "200")
ANYBODY = _outcomes("200", "200", "200", "200", "200")
REFUSED = _outcomes("403", "403", "403", "403")
"""Only services and the operator may."""
NOT_FOUND = _outcomes("404", "404", "404", "404")
"""Only administrators may; for others there is nothing."""


def fault(outcome: Outcome, text: str, content: str, prompt: str) -> str:
    """Return what is wrong with the text of a response with this outcome; empty if nothing is."""
    match outcome:
        case "200":
            return ""
        case "200 with the content":
            return "" if content in text else "it lacks the content"
        case "200 with the prompt":
            return "" if prompt in text else "it lacks the prompt"
        case "200 without the prompt":
            return "it has the prompt" if prompt in text else ""
        case _:
            return "it has the content" if content in text or prompt in text else ""
