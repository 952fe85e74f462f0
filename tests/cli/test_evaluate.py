"""`heddle evaluate`: questions, judgements, and a gateway that answers."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from heddle_cli.app import app
from heddle_cli.evaluation.judgement import Answer, judge, shares_words
from heddle_cli.evaluation.questions import Question, read_questions
from heddle_runtime.errors import InvalidRequestError
from typer.testing import CliRunner

PASSAGE = "A book may be kept for 28 days, and renewed three times."
ANSWERS = {
    "How long may I keep a book?": "You may keep a book for **28 days** [1].",
    "What does printing cost?": "I found nothing about this in the documents.",
}


def answer(text: str, *passages: str) -> Answer:
    return Answer(text, ["loans.md"], passages, 0, None, 0.0)


@pytest.mark.parametrize(
    ("question", "text", "faults"),
    [
        (Question("q", [["28 days", "four weeks"]]), "For four weeks.", 0),
        (Question("q", [["28"]]), "For 28.5 days.", 1),
        (Question("q", [["a"], ["b"]]), "Nothing of these.", 2),
        (Question("q", sources=["LOANS"]), "It is so.", 0),
        (Question("q", sources=["other.md"]), "It is so.", 1),
        (Question("q"), "A book may be kept for 28 days [1].", 0),
        (Question("q"), "A book may be kept for 30 days [1].", 1),
        (Question("q"), "It costs something else entirely [1, 2].", 2),
        (Question("q"), "I cannot answer this.", 1),
        (Question("q", is_answerable=False), "The documents do not mention it.", 0),
        (Question("q", is_answerable=False), "No he encontrado nada sobre esto.", 0),
        (Question("q", is_answerable=False), "It costs 10 dollars.", 1),
    ],
)
def test_an_answer_is_judged_by_its_words(question: Question, text: str, faults: int) -> None:
    assert len(judge(question, answer(text, PASSAGE), shares_words).faults) == faults


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2 is not JSON"),
        ('{"text": "q"}', "line 2 is not an object with the text `question`"),
        ('{"question": "q", "fact": []}', "line 2 has the unknown member 'fact'"),
        ('{"question": "q", "facts": [1]}', "texts, or lists of texts"),
        ('{"question": "q", "answerable": false, "facts": ["a"]}', "without facts"),
    ],
)
def test_a_line_that_is_no_question_is_named(tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text(f'{{"question": "q"}}\n{line}\n')
    with pytest.raises(InvalidRequestError, match=message):
        read_questions(file)


class Gateway(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.reply({"assistant": {"name": "a", "published": True, "tools": []}, "name": "a"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        assert "published" not in body.get("assistant", {})
        text = ANSWERS[body["messages"][0]["content"]]
        step = {"cost_usd": 0.25}
        self.reply(
            {
                "choices": [{"message": {"content": text}}],
                "usage": {"total_tokens": 7},
                "sources": [
                    {"document": [PASSAGE], "metadata": [{"name": "Loans", "source": "loans.md"}]}
                ],
                "heddle": [{"type": "trace", "data": {"steps": [step]}}],
            }
        )

    def reply(self, value: Any) -> None:
        text = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Gateway) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("fact", "code"), [("28 days", 0), ("14 days", 1)])
def test_variants_are_compared_and_the_exit_code_tells(
    tmp_path: Path, url: str, fact: str, code: int
) -> None:
    lines = [
        {"question": "How long may I keep a book?", "facts": [fact], "sources": ["loans.md"]},
        {"question": "What does printing cost?", "answerable": False},
    ]
    file = tmp_path / "questions.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    arguments = ["evaluate", "1", str(file), "--url", url, "--version", "2", "--model", "c/m"]

    result = CliRunner().invoke(app, [*arguments, "--json"])
    lenient = CliRunner().invoke(app, [*arguments, "--least", "0.5"])

    assert (result.exit_code, lenient.exit_code) == (code, 0)
    variants = json.loads(result.stdout)["variants"]
    assert [(each["name"], each["passed"]) for each in variants] == [
        ("version 2", 2 - code),
        ("c/m", 2 - code),
    ]
    assert variants[0]["questions"][0] | {"seconds": 0} == {
        "question": "How long may I keep a book?",
        "text": "You may keep a book for **28 days** [1].",
        "names": ["Loans loans.md"],
        "passages": [PASSAGE],
        "tokens": 7,
        "dollars": 0.25,
        "seconds": 0,
        "faults": [] if not code else ["does not state '14 days'"],
        "citations": 1,
        "unsupported": 0,
        "declined": False,
    }
