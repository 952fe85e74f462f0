"""The page about roles has the table of rights of the code."""

from pathlib import Path

from heddle_runtime.identity.permissions import LEAST_ROLES, ROLES

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "roles.md"


def test_the_page_has_the_rights_of_each_role() -> None:
    [head, _, *rows] = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.read_text().split("## Which role")[0].splitlines()
        if line.startswith("|")
    ]
    assert head == ["Right", *ROLES, "Allows"]
    assert [row[:-1] for row in rows] == [
        [f"`{right}`", *("no" if role < least else "yes" for role in range(len(ROLES)))]
        for right, least in ((right, ROLES.index(role)) for right, role in LEAST_ROLES.items())
    ]
