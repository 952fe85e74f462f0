"""The process that answers: `python -m heddle_knowledge.graph.entity_graph_worker`."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import msgspec
from heddle.knowledge.v1 import knowledge_pb2 as pb

from heddle_knowledge.graph.entity_graph import Community, Network, Place, drawn
from heddle_knowledge.graph.records import (
    AskPaths,
    AskThemes,
    Held,
    Learn,
    NamedPassage,
    Reply,
)
from heddle_knowledge.workers.serving import serve

_MEMORY = 4 * 1024**3
_OPEN_NETWORKS = 4
_SHOWN_NAMES = 12
_SHOWN_SUBGROUPS = 4
_SHOWN_EVIDENCE = 3
_CENTRAL = 20
_WORD = re.compile(r"\w{3,}")
_decode = msgspec.msgpack.Decoder(list[NamedPassage]).decode


@dataclass(frozen=True, slots=True)
class View:
    """A network, and where the passages of it are."""

    network: Network
    held: Sequence[Held]
    documents: Mapping[int, tuple[str, str]]
    """The collection and the document of each part."""
    passages: Mapping[int, bytes]
    """Those of each part, encoded."""

    def summary(self) -> pb.GraphSummary:
        """Return the size of the graphs."""
        foreign = sum(not part.english for held in self.held for part in held.parts)
        return pb.GraphSummary(
            entity_count=len(self.network.names),
            link_count=self.network.link_count,
            document_count=sum(len(held.parts) for held in self.held) - foreign,
            foreign_document_count=foreign,
            missing_document_count=sum(held.missing for held in self.held),
        )

    def evidence(self, places: Sequence[Place]) -> list[pb.Evidence]:
        """Return passages; collections are named by their record's id."""
        evidence = []
        for part, ordinal in places[:_SHOWN_EVIDENCE]:
            collection, document = self.documents[part]
            match = next(it for it in _decode(self.passages[part]) if it.ordinal == ordinal)
            passage = pb.Passage(
                text=match.text,
                document=document,
                headings=[match.heading] if match.heading else [],
                page=match.page or 0,
                ordinal=ordinal,
            )
            evidence.append(pb.Evidence(collection=collection, passage=passage))
        return evidence


class Answers:
    """Answers requests from what the service has sent before."""

    def __init__(self) -> None:
        self._passages: dict[int, bytes] = {}
        self._networks: dict[frozenset[int], Network] = {}

    def answer(self, request: AskThemes | AskPaths | Learn) -> Reply:
        """Return the response to a question, or say what is needed for it."""
        if isinstance(request, Learn):
            self._passages |= request.parts
            return Reply()
        documents = {
            part.id: (held.collection, part.document)
            for held in request.held
            for part in held.parts
        }
        if needed := sorted(documents.keys() - self._passages.keys()):
            return Reply(needed=needed)
        network = self._network(frozenset(documents))
        view = View(network, request.held, documents, self._passages)
        if isinstance(request, AskThemes):
            return Reply(_themes(view, request).SerializeToString())
        return Reply(_paths(view, request).SerializeToString())

    def _network(self, ids: frozenset[int]) -> Network:
        """Return the network of some parts, and forget the passages of those that no one asks."""
        if ids not in self._networks:
            while len(self._networks) >= _OPEN_NETWORKS:
                self._networks.pop(next(iter(self._networks)))
            self._networks[ids] = drawn(self._mentions(ids))
            used = frozenset().union(*self._networks)
            self._passages = {id_: it for id_, it in self._passages.items() if id_ in used}
        return self._networks[ids]

    def _mentions(self, ids: frozenset[int]) -> Iterator[tuple[Place, str, str]]:
        for part in sorted(ids):
            for passage in _decode(self._passages[part]):
                for name in passage.names:
                    yield (part, passage.ordinal), name.key, name.surface


def main() -> None:
    """Answer what the service sends, until it goes."""
    serve(Answers().answer, AskThemes | AskPaths | Learn, memory_bytes=_MEMORY)


def _themes(view: View, request: AskThemes) -> pb.ListGraphThemesResponse:
    communities = view.network.communities()
    words = set(_WORD.findall(request.query.casefold()))
    if words:  # a stable sort: without a match the order stays
        communities = sorted(communities, key=lambda each: -_matches(view.network, each, words))
    themes = [_theme(view, each) for each in communities[: request.most]]
    return pb.ListGraphThemesResponse(summary=view.summary(), themes=themes)


def _matches(network: Network, community: Community, words: set[str]) -> int:
    return sum(
        network.mentions[key] for key in community.members if words & set(_WORD.findall(key))
    )


def _theme(view: View, community: Community) -> pb.GraphTheme:
    network = view.network
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
        evidence=view.evidence(telling),
    )


def _paths(view: View, request: AskPaths) -> pb.FindGraphPathsResponse:
    network = view.network
    response = pb.FindGraphPathsResponse(summary=view.summary())
    start, end = network.find(request.start), network.find(request.end)
    for name, key in ((request.start, start), (request.end, end)):
        if not key:
            response.unknown.add(entity=name, similar=network.similar(name))
    if start and end and start != end:
        for path in network.paths(start, end, request.most):
            response.paths.add(links=[_link(view, *pair) for pair in pairwise(path)])
    return response


def _link(view: View, start: str, end: str) -> pb.GraphLink:
    network = view.network
    places = network.together(start, end)
    return pb.GraphLink(
        start=network.names[start],
        end=network.names[end],
        passage_count=len(places),
        evidence=view.evidence(places),
    )


if __name__ == "__main__":
    main()
