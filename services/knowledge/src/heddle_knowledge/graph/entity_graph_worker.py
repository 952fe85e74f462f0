"""The process that answers: `python -m heddle_knowledge.graph.entity_graph_worker`."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from heddle.knowledge.v1 import knowledge_pb2 as pb

from heddle_knowledge.files.sqlite_files import rows
from heddle_knowledge.graph.entity_graph import Community, Network, Place, drawn
from heddle_knowledge.graph.records import AskPaths, AskThemes, Held
from heddle_knowledge.workers.serving import serve

_MEMORY = 4 * 1024**3
_OPEN_NETWORKS = 4
_SHOWN_NAMES = 12
_SHOWN_SUBGROUPS = 4
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

    def summary(self) -> pb.GraphSummary:
        """Return the size of the graphs."""
        return pb.GraphSummary(
            entity_count=len(self.network.names),
            link_count=self.network.link_count,
            document_count=len(self.documents) - self.foreign,
            foreign_document_count=self.foreign,
            missing_document_count=self.missing,
        )

    def evidence(self, places: Sequence[Place]) -> list[pb.Evidence]:
        """Return passages, without deleted ones; collections are named by their record's id."""
        evidence = []
        for number, part, ordinal in places[:_SHOWN_EVIDENCE]:
            passages = rows(
                Path(self.held[number].path),
                "SELECT text, page, heading FROM passage WHERE part = ? AND ordinal = ?",
                part,
                ordinal,
            )
            evidence += [
                pb.Evidence(
                    collection=self.held[number].collection,
                    passage=pb.Passage(
                        text=text,
                        document=self.documents[number, part],
                        headings=[heading] if heading else [],
                        page=page or 0,
                        ordinal=ordinal,
                    ),
                )
                for text, page, heading in passages
            ]
        return evidence


def main() -> None:
    """Answer what the service sends, until it goes."""
    known: dict[object, Open] = {}
    serve(lambda request: _answer(request, known), AskThemes | AskPaths, memory_bytes=_MEMORY)


def _answer(request: AskThemes | AskPaths, known: dict[object, Open]) -> bytes:
    opened = _opened(request.held, known)
    if isinstance(request, AskThemes):
        return _themes(opened, request).SerializeToString()
    return _paths(opened, request).SerializeToString()


def _opened(held: Sequence[Held], known: dict[object, Open]) -> Open:
    """Return the network of what counts now, which is made only if it is another."""
    parts = [_counting(each) for each in held]
    key = tuple((each.path, frozenset(ids)) for each, (ids, _) in zip(held, parts, strict=True))
    missing = sum(len(each.parts) - len(ids) for each, (ids, _) in zip(held, parts, strict=True))
    if key not in known:
        while len(known) >= _OPEN_NETWORKS:
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
    known = rows(Path(held.path), "SELECT id, document, sha256, english FROM part")
    counting = [row for row in known if (row[1], row[2]) in current]
    return [(row[0], row[1]) for row in counting], sum(not row[3] for row in counting)


def _mentions(number: int, path: str, parts: set[int]) -> Iterator[tuple[Place, str, str]]:
    for part, ordinal, key, surface in rows(
        Path(path), "SELECT part, ordinal, key, surface FROM mention"
    ):
        if part in parts:
            yield (number, part, ordinal), key, surface


def _themes(opened: Open, request: AskThemes) -> pb.ListGraphThemesResponse:
    communities = opened.network.communities()
    words = set(_WORD.findall(request.query.casefold()))
    if words:  # a stable sort: without a match the order stays
        communities = sorted(communities, key=lambda each: -_matches(opened.network, each, words))
    themes = [_theme(opened, each) for each in communities[: request.most]]
    return pb.ListGraphThemesResponse(summary=opened.summary(), themes=themes)


def _matches(network: Network, community: Community, words: set[str]) -> int:
    return sum(
        network.mentions[key] for key in community.members if words & set(_WORD.findall(key))
    )


def _theme(opened: Open, community: Community) -> pb.GraphTheme:
    network = opened.network
    passages: Counter[Place] = Counter()
    for key in community.members:
        passages.update(network.places[key])
    together = [place for place, count in passages.items() if count > 1]
    central = set(community.members[:_CENTRAL])
    telling = sorted(
        together, key=lambda place: (-len(central.intersection(network.passages[place])), place)
    )
    subgroups = community.within[:_SHOWN_SUBGROUPS]
    return pb.GraphTheme(
        entities=[network.names[key] for key in community.members[:_SHOWN_NAMES]],
        entity_count=len(community.members),
        subgroups=[
            pb.EntityGroup(entities=[network.names[key] for key in each[:3]]) for each in subgroups
        ],
        passage_count=len(together),
        evidence=opened.evidence(telling),
    )


def _paths(opened: Open, request: AskPaths) -> pb.FindGraphPathsResponse:
    network = opened.network
    response = pb.FindGraphPathsResponse(summary=opened.summary())
    start, end = network.find(request.start), network.find(request.end)
    for name, key in ((request.start, start), (request.end, end)):
        if not key:
            response.unknown.add(entity=name, similar=network.similar(name))
    if start and end and start != end:
        for path in network.paths(start, end, request.most):
            response.paths.add(links=[_link(opened, *pair) for pair in pairwise(path)])
    return response


def _link(opened: Open, start: str, end: str) -> pb.GraphLink:
    network = opened.network
    places = network.together(start, end)
    return pb.GraphLink(
        start=network.names[start],
        end=network.names[end],
        passage_count=len(places),
        evidence=opened.evidence(places),
    )


if __name__ == "__main__":
    main()
