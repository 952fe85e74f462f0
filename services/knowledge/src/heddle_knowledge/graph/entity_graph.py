"""A graph of names: two are linked if they stand in one passage.

A link counts the less the more names its passages have, and the more links its ends have: names
that stand beside everything say nothing.
"""

import heapq
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import combinations

import graspologic_native

from heddle_knowledge.graph.entity_normalisation import key_of, singular

_MOST_TOGETHER = 40
"""The maximum number of related names of a passage; more names are a list of unrelated ones."""
_LARGEST_COMMUNITY = 100
_SEED = 1
_FURTHEST = 6
_CENTRAL = 10
_WORD = re.compile(r"\w{3,}")

Place = tuple[int, int]
"""A passage: the id of the part, the ordinal."""


@dataclass(frozen=True, slots=True)
class Community:
    """Names that stand together, the most central first."""

    members: tuple[str, ...]
    within: tuple[tuple[str, ...], ...]
    """The communities inside of it, the largest first; none if it is small."""


@dataclass(slots=True)
class Network:
    """Names by their keys, and where they stand together."""

    names: dict[str, str] = field(default_factory=dict)
    """The most frequent form of each name."""
    mentions: Counter[str] = field(default_factory=Counter)
    links: dict[str, dict[str, float]] = field(default_factory=dict)
    passages: dict[Place, tuple[str, ...]] = field(default_factory=dict)
    places: dict[str, set[Place]] = field(default_factory=dict)
    _communities: list[Community] | None = None

    @property
    def link_count(self) -> int:
        """The number of links."""
        return sum(map(len, self.links.values())) // 2

    def together(self, first: str, second: str) -> list[Place]:
        """Return the passages of two names, those with the fewest others first."""
        shared = self.places[first] & self.places[second]
        return sorted(shared, key=lambda place: (len(self.passages[place]), place))

    def communities(self) -> list[Community]:
        """Return the communities of the coarsest level, the most mentioned first."""
        if self._communities is None:
            self._communities = _communities(self)
        return self._communities

    def central(self, members: Iterable[str]) -> tuple[str, ...]:
        """Return some names in the order of how much they are linked among each other."""
        inside = set(members)
        strength = {
            key: sum(weight for other, weight in self.links.get(key, {}).items() if other in inside)
            for key in inside
        }
        return tuple(sorted(inside, key=lambda key: (-strength[key], key)))

    def find(self, name: str) -> str:
        """Return the key of a name: as it is written, or else the most mentioned that holds it."""
        key = key_of(name)
        key = singular(key, self.names)
        if key in self.names:
            return key
        words = set(_WORD.findall(key))
        holding = [each for each in self.names if words and words <= set(_WORD.findall(each))]
        return max(holding, key=lambda each: (self.mentions[each], each), default="")

    def similar(self, name: str, most: int = 5) -> list[str]:
        """Return names that look like one."""
        return [self.names[key] for key in get_close_matches(key_of(name), self.names, most, 0.6)]

    def paths(self, start: str, end: str, most: int) -> list[list[str]]:
        """Return ways from one name to another, the best first; no two share a name on the way."""
        paths: list[list[str]] = []
        avoided: set[str] = set()
        direct = True
        while len(paths) < most:
            path = self._path(start, end, avoided, direct=direct)
            if not path:
                break
            paths.append(path)
            avoided.update(path[1:-1])
            direct = direct and len(path) > 2  # noqa: PLR2004 - a way of two names is direct
        return paths

    def _path(self, start: str, end: str, avoided: set[str], *, direct: bool) -> list[str]:
        """Return the cheapest way: short, and through names with few links."""
        queue = [(0.0, 0, start)]
        before: dict[str, str] = {start: ""}
        costs = {start: 0.0}
        done = set()
        while queue:
            cost, length, key = heapq.heappop(queue)
            if key == end:
                return _walked(before, end)
            if key in done or length == _FURTHEST:
                continue
            done.add(key)
            for other in self.links[key]:
                if (
                    other in avoided
                    or other in done
                    or (key == start and other == end and not direct)
                ):
                    continue
                total = cost + 1.0 + (0.0 if other == end else math.log2(len(self.links[other])))
                if total < costs.get(other, math.inf):
                    costs[other], before[other] = total, key
                    heapq.heappush(queue, (total, length + 1, other))
        return []


def drawn(mentions: Iterable[tuple[Place, str, str]]) -> Network:
    """Build a network from mentions.

    Args:
        mentions: The place, the key and the surface of each mention.
    """
    listed = list(mentions)
    known = {key for _, key, _ in listed}
    network = Network()
    surfaces: dict[str, Counter[str]] = defaultdict(Counter)
    together: dict[Place, dict[str, None]] = defaultdict(dict)
    for place, written, surface in listed:
        key = singular(written, known)
        surfaces[key][surface] += 1 if key == written else 0
        network.mentions[key] += 1
        together[place][key] = None
    network.names = {
        key: min(seen, key=lambda each: (-seen[each], each)) for key, seen in surfaces.items()
    }
    network.links = {key: {} for key in network.names}
    network.places = {key: set() for key in network.names}
    for place, keys in together.items():
        network.passages[place] = tuple(keys)
        for key in keys:
            network.places[key].add(place)
        _link(network, list(keys)[:_MOST_TOGETHER])
    return network


def _link(network: Network, keys: Sequence[str]) -> None:
    weight = 1.0 / max(1, len(keys) - 1)
    for first, second in combinations(keys, 2):
        for one, other in ((first, second), (second, first)):
            network.links[one][other] = network.links[one].get(other, 0.0) + weight


def _walked(before: dict[str, str], end: str) -> list[str]:
    path = [end]
    while before[path[-1]]:
        path.append(before[path[-1]])
    return path[::-1]


def _communities(network: Network) -> list[Community]:
    edges = [
        (first, second, weight / math.sqrt(len(others) * len(network.links[second])))
        for first, others in network.links.items()
        for second, weight in others.items()
        if first < second
    ]
    if not edges:
        return []
    levels: dict[int, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    parents: dict[int, int] = {}
    for each in graspologic_native.hierarchical_leiden(
        edges, max_cluster_size=_LARGEST_COMMUNITY, seed=_SEED
    ):
        levels[each.level][each.cluster].append(each.node)
        if each.parent_cluster is not None:
            parents[each.cluster] = each.parent_cluster
    inside: dict[int, list[list[str]]] = defaultdict(list)
    for cluster, members in levels[1].items():
        inside[parents[cluster]].append(members)
    communities = [
        Community(
            network.central(members),
            tuple(
                network.central(each)[:_CENTRAL]
                for each in sorted(inside[cluster], key=lambda each: (-len(each), min(each)))
            ),
        )
        for cluster, members in levels[0].items()
    ]
    return sorted(
        communities,
        key=lambda each: (-sum(network.mentions[key] for key in each.members), each.members[0]),
    )
