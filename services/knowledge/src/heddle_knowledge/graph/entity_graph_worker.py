"""The process that answers: `python -m heddle_knowledge.graph.entity_graph_worker`."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from heddle_knowledge.graph import records
from heddle_knowledge.graph.entity_graph import Community, Network, Place, drawn
from heddle_knowledge.graph.parts import rows
from heddle_knowledge.graph.records import (
    Answer,
    AskPaths,
    AskThemes,
    Evidence,
    Held,
    Link,
    Theme,
)
from heddle_knowledge.workers.serving import serve

_MEMORY = 4 * 1024**3
_REMEMBERED = 4
_SHOWN_NAMES = 12
_SHOWN_WITHIN = 4
_SHOWN_EVIDENCE = 3
_CENTRAL = 20
_WORD = re.compile(r"\w{3,}")


@dataclass(frozen=True, slots=True)
class Open:
    """A network, and where the passages of it are."""

    network: Network
    held: Sequence[Held]
    documents: dict[tuple[int, int], str]
    """The documents' names by the number of the file and the part."""
    foreign: int
    missing: int

    def counted(self) -> records.Network:
        """Return how much there is."""
        return records.Network(
            len(self.network.names),
            self.network.link_count,
            len(self.documents) - self.foreign,
            self.foreign,
            self.missing,
        )

    def evidence(self, places: Sequence[Place]) -> list[Evidence]:
        """Return passages, without those that have gone meanwhile."""
        found = []
        for number, part, ordinal in places[:_SHOWN_EVIDENCE]:
            passages = rows(
                self.held[number].path,
                "SELECT text, page, heading FROM passage WHERE part = ? AND ordinal = ?",
                part,
                ordinal,
            )
            collection, document = self.held[number].collection, self.documents[number, part]
            found += [Evidence(collection, document, ordinal, *row) for row in passages]
        return found


def main() -> None:
    """Answer what the service sends, until it goes."""
    known: dict[object, Open] = {}
    serve(lambda request: _answer(request, known), AskThemes | AskPaths, memory_bytes=_MEMORY)


def _answer(request: AskThemes | AskPaths, known: dict[object, Open]) -> Answer:
    opened = _opened(request.held, known)
    if isinstance(request, AskThemes):
        return _themes(opened, request)
    return _paths(opened, request)


def _opened(held: Sequence[Held], known: dict[object, Open]) -> Open:
    """Return the network of what counts now, which is made only if it is another."""
    parts = [_counting(each) for each in held]
    key = tuple((each.path, frozenset(ids)) for each, (ids, _) in zip(held, parts, strict=True))
    missing = sum(len(each.parts) - len(ids) for each, (ids, _) in zip(held, parts, strict=True))
    if key not in known:
        while len(known) >= _REMEMBERED:
            known.pop(next(iter(known)))
        documents = {
            (number, part): document
            for number, (ids, _) in enumerate(parts)
            for part, document in ids
        }
        mentions = (
            mention
            for number, (each, (ids, _)) in enumerate(zip(held, parts, strict=True))
            for mention in _mentions(number, each.path, {part for part, _ in ids})
        )
        foreign = sum(count for _, count in parts)
        known[key] = Open(drawn(mentions), held, documents, foreign, missing)
    return known[key]


def _counting(held: Held) -> tuple[list[tuple[int, str]], int]:
    """Return the parts of a file that count, with their documents; and how many are foreign."""
    current = {(part.document, part.sha256) for part in held.parts}
    known = rows(held.path, "SELECT id, document, sha256, english FROM part")
    counting = [row for row in known if (row[1], row[2]) in current]
    return [(row[0], row[1]) for row in counting], sum(not row[3] for row in counting)


def _mentions(number: int, path: str, parts: set[int]) -> Iterator[tuple[Place, str, str]]:
    for part, ordinal, key, surface in rows(
        path, "SELECT part, ordinal, key, surface FROM mention"
    ):
        if part in parts:
            yield (number, part, ordinal), key, surface


def _themes(opened: Open, request: AskThemes) -> Answer:
    communities = opened.network.communities()
    words = set(_WORD.findall(request.query.casefold()))
    if words:  # a stable sort: without a match the order stays
        communities = sorted(communities, key=lambda each: -_matches(opened.network, each, words))
    themes = [_theme(opened, each) for each in communities[: request.most]]
    return Answer(opened.counted(), themes=themes)


def _matches(network: Network, community: Community, words: set[str]) -> int:
    return sum(
        network.mentions[key] for key in community.members if words & set(_WORD.findall(key))
    )


def _theme(opened: Open, community: Community) -> Theme:
    network = opened.network
    passages: Counter[Place] = Counter()
    for key in community.members:
        passages.update(network.places[key])
    together = [place for place, count in passages.items() if count > 1]
    central = set(community.members[:_CENTRAL])
    telling = sorted(
        together, key=lambda place: (-len(central.intersection(network.passages[place])), place)
    )
    return Theme(
        [network.names[key] for key in community.members[:_SHOWN_NAMES]],
        len(community.members),
        len(together),
        [[network.names[key] for key in each[:3]] for each in community.within[:_SHOWN_WITHIN]],
        opened.evidence(telling),
    )


def _paths(opened: Open, request: AskPaths) -> Answer:
    network = opened.network
    asked = (request.start, request.end)
    keys = [network.find(name) for name in asked]
    unknown = [name for name, key in zip(asked, keys, strict=True) if not key]
    if unknown:
        similar = [network.similar(name) for name in unknown]
        return Answer(opened.counted(), unknown=unknown, similar=similar)
    start, end = keys
    if start == end:
        return Answer(opened.counted())
    paths = network.paths(start, end, request.most)
    return Answer(opened.counted(), paths=[_links(opened, path) for path in paths])


def _links(opened: Open, path: Sequence[str]) -> list[Link]:
    links = []
    for first, second in pairwise(path):
        places = opened.network.together(first, second)
        names = opened.network.names
        links.append(Link(names[first], names[second], len(places), opened.evidence(places)))
    return links


if __name__ == "__main__":
    main()
