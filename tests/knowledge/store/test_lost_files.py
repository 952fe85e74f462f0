"""SQLite files of collections that disappear while they are written."""

from pathlib import Path

import pytest
from heddle_knowledge.files.sqlite_files import rows, writing
from heddle_runtime.storage.stored_files import LostFileError

TABLE = "CREATE TABLE IF NOT EXISTS words (word TEXT)"


@pytest.mark.parametrize("ending", ["", "-wal"])
def test_a_write_to_a_file_that_disappears_is_not_acknowledged(tmp_path: Path, ending: str) -> None:
    file = tmp_path / "pages.sqlite"
    with pytest.raises(LostFileError), writing(file, TABLE) as database:
        database.execute("INSERT INTO words VALUES ('lost')")
        file.with_name(file.name + ending).unlink()


def test_the_next_write_makes_the_file_again(tmp_path: Path) -> None:
    file = tmp_path / "pages.sqlite"
    for _ in range(2):
        with writing(file, TABLE) as database:
            database.execute("INSERT INTO words VALUES ('there')")
        assert rows(file, "SELECT word FROM words") == [("there",)]
        file.unlink()
