"""The graph of names: what counts as one name, who is linked, which way is a good one."""

import pytest
from heddle_knowledge.graph.entity_graph import Network, drawn
from heddle_knowledge.graph.entity_normalisation import key_of, surface_of


def network(*passages: str) -> Network:
    """Return the network of passages, each given as its names with commas between."""
    return drawn(
        ((1, ordinal), key_of(name), surface_of(name))
        for ordinal, names in enumerate(passages)
        for name in names.split(", ")
    )


@pytest.mark.parametrize(
    ("written", "surface"),
    [
        ("Scott Derrickson's", "Scott Derrickson"),
        ("the European Union", "European Union"),
        ("  Los\n Angeles, ", "Los Angeles"),
        ("“Doctor Strange”", "Doctor Strange"),
        ("James' ", "James"),
        ("James\u2019s", "James"),
        ("C++", "C++"),
        ("###", ""),
        ("1994", ""),
        ("A", ""),
        ("https://looms.example/GUILD", ""),
        ("x" * 81, ""),
    ],
)
def test_a_name_is_taken_without_what_stands_around_it(written: str, surface: str) -> None:
    assert surface_of(written) == surface
    assert key_of(written) == surface.casefold()


def test_case_and_plural_make_no_other_name() -> None:
    made = network("Loom, Weaver", "LOOM, weavers", "looms, Weavers", "Paris, Loom")

    assert made.names == {"loom": "Loom", "weaver": "Weaver", "paris": "Paris"}
    assert made.mentions["loom"] == 4
    assert len(made.together("loom", "weaver")) == 3


def test_a_way_around_a_hub_is_better_than_one_through_it() -> None:
    hub = [f"Hub, Name {number}" for number in range(64)]
    made = network("Ana, Hub", "Hub, Bo", "Ana, Xi", "Xi, Yu", "Yu, Bo", *hub)

    first, second = made.paths("ana", "bo", 5)

    assert first == ["ana", "xi", "yu", "bo"]
    assert second == ["ana", "hub", "bo"]


def test_names_that_stand_together_are_linked_directly_and_otherwise_too() -> None:
    made = network("Ana, Bo", "Ana, Xi", "Xi, Bo", "Far, Away")

    assert made.paths("ana", "bo", 5) == [["ana", "bo"], ["ana", "xi", "bo"]]
    assert made.paths("ana", "far", 5) == []


def test_a_way_has_an_end_somewhere() -> None:
    made = network(*(f"Name {number}, Name {number + 1}" for number in range(10)))

    assert made.paths("name 0", "name 6", 1) == [[f"name {number}" for number in range(7)]]
    assert made.paths("name 0", "name 7", 1) == []


def test_the_passage_that_says_most_of_two_names_comes_first() -> None:
    made = network("Ana, Bo, Xi, Yu", "Ana, Bo", "Ana, Bo, Xi")

    assert [ordinal for _, ordinal in made.together("ana", "bo")] == [1, 2, 0]


def test_a_long_list_links_nobody_strongly() -> None:
    many = ", ".join(f"Name {number}" for number in range(500))
    made = network(many, "Ana, Bo")

    assert made.link_count == 40 * 39 // 2 + 1
    assert made.links["name 1"]["name 2"] < 0.03 < made.links["ana"]["bo"]


def test_names_that_stand_together_make_a_theme_named_by_the_most_central() -> None:
    weaving = ["Loom, Heddle", "Loom, Shed", "Loom, Reed", "Heddle, Shed", "Loom, Heddle, Reed"]
    baking = ["Oven, Dough", "Oven, Yeast", "Dough, Yeast"]

    weavers, bakers = network(*weaving, *baking, "Alone").communities()

    assert weavers.members[0] == "loom"
    assert {*weavers.members} == {"loom", "heddle", "shed", "reed"}
    assert {*bakers.members} == {"oven", "dough", "yeast"}


def test_a_large_theme_tells_what_is_within_it() -> None:
    """A hundred pairs that all know one another's neighbours, in four groups."""
    groups = [
        f"G{group} N{one}, G{group} N{(one * 7 + step) % 60}"
        for group in range(4)
        for one in range(60)
        for step in range(1, 6)
    ]
    bridges = [
        f"G{group} N{one}, G{(group + 1) % 4} N{one}" for group in range(4) for one in range(60)
    ]
    found = network(*groups, *bridges, *bridges, *bridges).communities()

    assert [each.members for each in found] == [
        each.members for each in network(*groups, *bridges, *bridges, *bridges).communities()
    ]
    large = [each for each in found if len(each.members) > 100]
    assert all(len(each.within) > 1 for each in large)
    assert sum(len(each.members) for each in found) == 240


def test_a_name_is_found_by_a_part_of_it_or_told_to_be_like_others() -> None:
    made = network(
        "Scott Derrickson, Marvel Studios", "Scott Walker, Marvel Studios", "Scott Walker"
    )

    assert made.find("the SCOTT derrickson's") == "scott derrickson"
    assert made.find("Scott") == "scott walker"
    assert made.find("Derricksen") == ""
    assert made.similar("Scott Derricksen") == ["Scott Derrickson"]


def test_nothing_makes_no_network() -> None:
    made = network("Alone")
    assert made.communities() == []
    assert (made.link_count, made.names) == (0, {"alone": "Alone"})
