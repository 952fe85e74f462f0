"""`make graph`: how imports and lines are measured."""

from docs.project.graph import between_units, components, depth, line_problems

CYCLE = {"p.a": {"p.b"}, "p.b": {"p.c"}, "p.c": {"p.b", "p.d.x"}, "p.d.x": set(), "p": {"p.a"}}


def test_modules_that_import_each_other_are_one_component() -> None:
    assert components(CYCLE) == [{"p.d.x"}, {"p.b", "p.c"}, {"p.a"}, {"p"}]


def test_the_units_of_a_cycle_count_as_one_level() -> None:
    units = between_units("p", CYCLE)

    assert units == {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}
    assert depth(units) == 3


def test_a_member_beyond_its_limit_fails_and_a_limit_far_above_a_member_is_lowered() -> None:
    targets = {"small": 500, "large": 2_000, "smaller": 2_000}
    recorded = {"large": 4_000, "smaller": 4_000}

    def problems(*lines: int) -> list[str]:
        return list(line_problems(dict(zip(targets, lines, strict=True)), targets, recorded))

    assert problems(500, 4_000, 3_001) == []
    assert problems(501, 4_001, 2_950) == [
        "small has 501 lines; the limit is 500",
        "large has 4,001 lines; the limit is 4,000",
        "smaller has 2,950 lines: lower its limit in RECORDED to 3,000",
    ]
