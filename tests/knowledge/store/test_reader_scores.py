"""`benchmarks.readers`: what counts as lost and as false, and 200 numbers that stay true."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from heddle_knowledge.reading.documents import parse
from knowledge.store.making import docx_of
from knowledge.store.office_files import odt

from benchmarks.readers.__main__ import check
from benchmarks.readers.scoring import false_numbers, lost_words

EXPONENTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
POWERS = [(base, exponent) for base in range(2, 12) for exponent in range(10, 20)]
FRACTIONS = [(number, number + step) for number in range(1, 51) for step in (1, 16)]
RAISED = '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>{}</w:t></w:r>'
STYLE = (
    '<style:style style:name="T1" style:family="text"><style:text-properties '
    'style:text-position="super 58%"/></style:style>'
)
MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'


def run(text: object) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def of_word() -> bytes:
    powers = "".join(f"<w:p>{run(a)}{RAISED.format(b)}{run(' kg')}</w:p>" for a, b in POWERS)
    parts = (
        f"<m:num><m:r><m:t>{a}</m:t></m:r></m:num><m:den><m:r><m:t>{b}</m:t></m:r></m:den>"
        for a, b in FRACTIONS
    )
    fractions = "".join(f"<w:p><m:oMath {MATH}><m:f>{it}</m:f></m:oMath></w:p>" for it in parts)
    return docx_of(powers + fractions)


def of_web() -> bytes:
    powers = "".join(f"<p>{a}<sup>{b}</sup> kg" for a, b in POWERS)
    parts = (f"<mfrac><mn>{a}</mn><mn>{b}</mn></mfrac>" for a, b in FRACTIONS)
    return (powers + "".join(f"<p><math>{each}</math>" for each in parts)).encode()


def of_odt() -> bytes:
    raised = '<text:span text:style-name="T1">{}</text:span>'
    powers = "".join(f"<text:p>{a}{raised.format(b)} kg</text:p>" for a, b in POWERS)
    return odt(powers + "".join(f"<text:p>{a}/{b}</text:p>" for a, b in FRACTIONS), STYLE)


@pytest.mark.parametrize(
    ("name", "data"), [("a.docx", of_word), ("a.html", of_web), ("a.odt", of_odt)]
)
def test_two_hundred_numbers_stay_true(name: str, data: Callable[[], bytes]) -> None:
    document = parse(data(), media_type="", name=name)
    lines = [line for block in document.blocks for line in block.text.split("\n")]
    powers = ["".join((str(a), *(EXPONENTS[int(it)] for it in str(b)), " kg")) for a, b in POWERS]
    assert lines == [*powers, *(f"{a}/{b}" for a, b in FRACTIONS)]


def test_an_exponent_that_joins_its_base_is_a_false_number() -> None:
    assert false_numbers("2 x 1024 kg", "2 x 10²⁴ kg") == 1
    assert false_numbers("2 x 10^24 kg", "2 x 10²⁴ kg") == 0
    assert lost_words("one two", "one two two <b>three</b>") == 2


def test_facts_are_checked_by_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("The exam is in room 12.")
    facts = {"a.txt": {"says": ["room 12", "room 13"], "lacks": ["exam"]}}
    assert check(json.loads(json.dumps(facts)), [tmp_path / "a.txt"], "heddle") == 2
    assert "heddle: a.txt lacks 'room 13'\nheddle: a.txt says 'exam'" in capsys.readouterr().out
