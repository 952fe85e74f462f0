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
    "404 of the file",
    "failed",
]
"""A success says which words of the thing it may have or must have; `200` makes no difference. A
refusal has none of them, and a 404 or a failure is the answer about a thing that does not exist.
`404 of the file` is the answer about an existing collection and a file that does not exist."""
Outcomes = Mapping[Role, Outcome]


def _outcomes(
    owner: Outcome, other: Outcome, colleague: Outcome, stranger: Outcome, nobody: Outcome = "401"
) -> dict[Role, Outcome]:
    """Return the outcomes of all who have no key or are no administrators."""
    return {
        "owner": owner,
        "other user": other,
        "colleague": colleague,
        "member": colleague,
        "unknown user": colleague,
        "other organisation": stranger,
        "other admin": stranger,
        "no key": nobody,
    }


def _as(outcome: Outcome, *roles: Role) -> dict[Role, Outcome]:
    return dict.fromkeys(roles, outcome)


def shared(outcome: Outcome) -> dict[Role, Outcome]:
    """Return an outcome of those with whom things are shared."""
    return _as(outcome, "colleague", "member", "unknown user")


def elsewhere(outcome: Outcome) -> dict[Role, Outcome]:
    """Return an outcome of users of another organisation."""
    return _as(outcome, "other organisation", "other admin")


WITHOUT_RIGHT = _as("403", "member", "unknown user")
"""The role of these lacks the right, whatever the call names."""


OWN = _outcomes("200", "404", "404", "404")
"""Only the owner may, whatever is shared."""
UPLOADED = OWN | _as("404", "admin", "operator")
"""Likewise: a file belongs to its uploader alone, as a picture to who asked for it."""
MANAGED = OWN | _as("200", "admin", "operator")
"""The owner and administrators may, whatever is shared."""
PROMPT = OWN | _as("200 with the prompt", "owner", "admin", "operator")
"""Likewise, and the answer has the prompt."""
CHANGE = OWN | WITHOUT_RIGHT | _as("200", "admin", "operator")
"""The owner and administrators may, whatever is shared."""
RUN = _outcomes("200 without the prompt", "404", "200 without the prompt", "404") | _as(
    "200 without the prompt", "admin", "operator"
)
"""Those may use it with whom it is shared, and no answer has the prompt."""
DESCRIBE = _outcomes("200 with the content", "404", "200 without the prompt", "404") | _as(
    "200 with the content", "admin", "operator"
)
READ = _outcomes("200", "404", "200", "404") | _as("200", "admin", "operator")
"""Those may read it with whom it is shared."""
CHANGE_SHARED = CHANGE | _as("403", "colleague")
"""Who may read it knows that it exists, and may not change it."""
ATTACH = CHANGE_SHARED | _as("404 of the file", "admin", "operator")
"""Likewise, of a file: it belongs to its uploader alone, so administrators find none."""
CHANGE_ENDED = CHANGE_SHARED | _as("400", "owner", "admin", "operator")
"""Likewise, and what has ended cannot be changed."""
LIST = _outcomes("200", "200 without anything", "200 without the prompt", "200 without anything")
LIST_SHARED = LIST | {"owner": "200 without anything"}
LIST_OWN = LIST | _as("200 without anything", "colleague", "member", "unknown user", "other admin")
LIST_UPLOADED = LIST_OWN | _as("200 without anything", "admin", "operator")
ALL = _outcomes("200", "200", "200", "200") | _as("200", "admin", "operator")
CREATORS = ALL | WITHOUT_RIGHT
ANYBODY = _outcomes("200", "200", "200", "200", "200") | _as("200", "admin", "operator")
REFUSED = _outcomes("403", "403", "403", "403") | _as("403", "admin")
"""Only services and the operator may."""
AUDIT = REFUSED | _as("200", "admin", "other admin")
"""Administrators read the events of their organisation."""
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
