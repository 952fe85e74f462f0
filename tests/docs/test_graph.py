"""`make graph`: how imports are measured."""

from docs.project.graph import between_units, components, depth

CYCLE = {"p.a": {"p.b"}, "p.b": {"p.c"}, "p.c": {"p.b", "p.d.x"}, "p.d.x": set(), "p": {"p.a"}}


def test_modules_that_import_each_other_are_one_component() -> None:
    assert components(CYCLE) == [{"p.d.x"}, {"p.b", "p.c"}, {"p.a"}, {"p"}]


def test_the_units_of_a_cycle_count_as_one_level() -> None:
    units = between_units("p", CYCLE)

    assert units == {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}
    assert depth(units) == 3
