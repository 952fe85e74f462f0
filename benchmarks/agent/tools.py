"""The tools to choose from, as a tools service describes them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from heddle.assistant.v1 import assistant_pb2
from heddle_orchestrator.agent.decision import TEXT_RESPONSE, Candidate
from heddle_orchestrator.tools.bindings import BoundTool

from benchmarks.agent.questions import FAST, HYBRID, PAGES, WEB

_Examples = Sequence[tuple[str, Mapping[str, Any]]]


def candidate(
    name: str, description: str, schema: Mapping[str, Any], examples: _Examples
) -> Candidate:
    """Return a candidate."""
    return Candidate(
        name,
        description,
        schema,
        [(request, json.dumps(inputs)) for request, inputs in examples],
        BoundTool(name, assistant_pb2.ToolBinding(tool=name), 10.0, binding_id=name),
        name,
    )


def _tool(name: str, description: str, argument: str, says: str, examples: _Examples) -> Candidate:
    schema = {
        "type": "object",
        "properties": {argument: {"type": "string", "minLength": 1, "description": says}},
        "required": [argument],
        "additionalProperties": False,
    }
    return candidate(name, description, schema, examples)


def _search(name: str, description: str, *examples: tuple[str, str]) -> Candidate:
    shown = [(request, {"query": query}) for request, query in examples]
    return _tool(name, description, "query", "What to look for, in plain words.", shown)


SEARCHES = (
    _search(
        FAST,
        "Looks up a definition, a name, a number or another simple fact in the manuals.",
        ("What is a kernel module?", "kernel module"),
        ("Which file holds the host name?", "file of the host name"),
        ("How many runlevels are there?", "number of runlevels"),
        ("Define mirror", "mirror definition"),
    ),
    _search(
        HYBRID,
        "Looks for tables, menus, lists and whatever needs several passages to be explained.",
        ("Why does my printer stop after an upgrade?", "printer stops after upgrade"),
        ("List all key bindings of the menu", "key bindings of the menu"),
        ("How do I encrypt a disk and still boot unattended?", "encrypt disk boot unattended"),
        ("Compare the mail servers", "comparison of mail servers"),
    ),
    _search(
        PAGES,
        "Finds pages by what is drawn on them: figures, diagrams, screenshots.",
        ("Show me the screenshot of the login", "screenshot login"),
        ("Which figure explains the layers?", "figure layers"),
        ("Is there a diagram of the bus?", "diagram bus"),
        ("The picture of the cable, please", "picture cable"),
    ),
    _search(
        WEB,
        "Searches the internet for news, prices, people and whatever changes from day to day.",
        ("What happened at the conference yesterday?", "conference news"),
        ("Is the site offline at the moment?", "site status"),
        ("Who is the mayor of Lleida now?", "mayor of Lleida"),
        ("Newest release of Firefox", "newest Firefox release"),
    ),
)
THREE = (
    _tool(
        "show_package",
        "Tells the version, size, dependencies and maintainer of a package.",
        "package",
        "The package's name.",
        [
            ("Which version of git is installed?", {"package": "git"}),
            ("Tell me about the package emacs", {"package": "emacs"}),
            ("How large is libreoffice?", {"package": "libreoffice"}),
            ("Who looks after apache2?", {"package": "apache2"}),
        ],
    ),
    _tool(
        "read_manual_page",
        "Opens the manual page of a command or a file.",
        "page",
        "The page's name.",
        [
            ("Open the man page of find", {"page": "find"}),
            ("What does the manual say about sed?", {"page": "sed"}),
            ("Read man sudoers", {"page": "sudoers"}),
            ("Show me the manual of less", {"page": "less"}),
        ],
    ),
    _tool(
        "report_bug",
        "Reports a fault of a package to its maintainer.",
        "package",
        "The package's name.",
        [
            ("vlc crashes, please report it", {"package": "vlc"}),
            ("File a bug against exim4, it loses mail", {"package": "exim4"}),
            ("Tell the maintainers that xterm flickers", {"package": "xterm"}),
            ("There is a mistake in wget, open a ticket", {"package": "wget"}),
        ],
    ),
)
END = Candidate(
    TEXT_RESPONSE, "Answers the person.", {"type": "object", "properties": {}}, end=True
)
