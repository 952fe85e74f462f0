"""Answers of assistants whose organisation has no model: quotes of what the tools found."""

import pytest
from heddle.assistant.v1 import assistant_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.tool.v1 import tool_pb2
from heddle_orchestrator.quotes.answer import answer, declining_answer
from heddle_orchestrator.quotes.selection import MAX_CHARS, best_quotes, units_of
from heddle_runtime.errors import NoModelError, UnavailableError, from_rpc
from orchestrator.harness import Connector, ask, assistant, function, kinds, orchestrating, tool

GRADES = """Grade Determination
The final grade you earn in this course will be based on the points accumulated over several
activities as described below.
Activity Points
Lab work 35 %
Project 20 %
Final exam 45 %
Late work loses 10 % of its points each day. Ask the instructor, e.g. by mail, before the day
that it is due."""
PRICES = "Model | Price | Notes\nBC107 | 22.7 |\nBC108 | 18.5 | NPN\nBC109 | 25.1 |"
TAUGHT = (
    "Dr. Ann Lee teaches on Mondays, e.g. at 10. The room is 4.1, which the third floor of "
    "the old building has. The library closes at 5 p.m. on Fridays. It is quiet."
)
CUT = (
    "This line fills the page, whose next line has the end of the\n"
    "sentence, which is it. To use these tools as professionals, one needs to know"
)


def source(excerpt: str, title: str = "syllabus.pdf", **attributes: str) -> tool_pb2.Source:
    return tool_pb2.Source(title=title, excerpt=excerpt, attributes=attributes)


def quoted(question: str, *excerpts: str) -> list[str]:
    quotes = best_quotes(question, [source(each) for each in excerpts])
    return [unit.text for quote in quotes for unit in quote.units]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            TAUGHT,
            [
                "Dr. Ann Lee teaches on Mondays, e.g. at 10.",
                "The room is 4.1, which the third floor of the old building has.",
                "The library closes at 5 p.m. on Fridays.",
                "It is quiet.",
            ],
        ),
        ("- 40% problem sets\n- 10% midterm\n", ["- 40% problem sets", "- 10% midterm"]),
        (PRICES, ["BC107 | 22.7 |", "BC108 | 18.5 | NPN", "BC109 | 25.1 |"]),
        (
            "All of these have a tolerance of five\npercent, which is indicated by gold.",
            ["All of these have a tolerance of five percent, which is indicated by gold."],
        ),
        (
            CUT,
            ["This line fills the page, whose next line has the end of the sentence, which is it."],
        ),
        ("", []),
    ],
    ids=["abbreviations", "items", "table", "narrow", "cut", "empty"],
)
def test_a_passage_falls_into_whole_sentences_rows_and_items(text: str, parts: list[str]) -> None:
    assert [unit.text for unit in units_of(text)] == parts


def test_a_row_has_the_header_of_its_table() -> None:
    assert {unit.header for unit in units_of(PRICES)} == {"Model | Price | Notes"}


def test_the_rows_of_a_table_without_a_better_match_are_quoted_together() -> None:
    quotes = quoted("What counts how much for the grade?", GRADES)
    assert [line for line in quotes if line.endswith("%")] == [
        "Lab work 35 %",
        "Project 20 %",
        "Final exam 45 %",
    ]


@pytest.mark.parametrize(
    ("question", "excerpts", "first"),
    [
        ("What does the BC108 cost?", [PRICES], "BC108 | 18.5 | NPN"),
        ("How much do I lose if I am late?", [GRADES], "Late work loses 10 % of its points"),
        ("What does R4 have?", ["☐ R3 - 620Ω\n☐ R4 - 330Ω"], "☐ R4 - 330Ω"),
        (
            "How many objects are packed?",
            ["Objects are packed when there are many. The default is 6700, see make(1)."],
            "Objects are packed when there are many. The default is 6700, see make(1).",
        ),
    ],
)
def test_the_part_with_the_rarest_words_of_the_question_is_quoted(
    question: str, excerpts: list[str], first: str
) -> None:
    assert any(part.startswith(first) for part in quoted(question, *excerpts))


@pytest.mark.parametrize("question", ["Who wrote Hamlet?", "", "What is it?"])
def test_nothing_is_quoted_without_a_match(question: str) -> None:
    assert quoted(question, GRADES, PRICES) == []


def test_quotes_are_whole_short_and_from_each_passage_once() -> None:
    long = " ".join(
        f"The exam number {number} takes place in room {number}." for number in range(90)
    )
    quotes = quoted("Where is the exam?", GRADES, GRADES, long)
    assert sum(map(len, quotes)) <= MAX_CHARS
    assert len(quotes) == len(set(quotes)) <= 3
    assert all(part.endswith((".", "%")) for part in quotes)


def test_a_source_is_named_with_section_and_page() -> None:
    found = source(PRICES, "prices.csv", page="7", heading="Parts / Transistors")
    text = answer("What does the BC108 cost?", [found], searched=True)
    assert "> | Model | Price | Notes |\n> | --- | --- | --- |\n" in text
    assert "> | BC108 | 18.5 | NPN |\n" in text
    assert "\n\n— prices.csv, Transistors, page 7\n" in text


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("How much is the exam worth?", "No language model is connected"),
        ("¿Cuánto cuenta el examen final?", "No hay ningún modelo de lenguaje conectado"),
        ("Quant compta l'examen final, i quin dia és?", "No hi ha cap model de llenguatge"),
        ("Zenbat balio du azterketak?", "Ez dago hizkuntza-eredurik konektatuta"),
        ("42", "No language model is connected"),
    ],
)
@pytest.mark.parametrize("searched", [True, False])
def test_the_answer_says_in_the_language_of_the_question_that_no_model_is_connected(
    question: str, words: str, *, searched: bool
) -> None:
    assert answer(question, [], searched=searched).startswith(words)


def default_assistant(
    *tools: assistant_pb2.ToolBinding, strategy: str = ""
) -> assistant_pb2.Assistant:
    own = assistant(*tools, template="{context}{user_input}", strategy=strategy)
    own.model.CopyFrom(assistant_pb2.ModelRef(connector="default", model="default"))
    return own


def texts(events: list[pb.RunEvent]) -> str:
    return "".join(event.text_delta for event in events)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("has_tool", [True, False])
async def test_without_a_model_the_passages_are_quoted(*, whole: bool, has_tool: bool) -> None:
    search = tool("search", text="…", sources=["prices.csv"], excerpt=PRICES)
    request = ask(default_assistant(*[search] * has_tool), "What does the BC108 cost?")
    connector = Connector(refusal=NoModelError("No model is connected."))  # type: ignore[abstract] # as in the harness
    async with orchestrating(connector=connector) as harness:
        events = await (harness.whole(request) if whole else harness.events(request))
        assert ("18.5" in texts(events)) is has_tool
        assert texts(events).startswith("No language model is connected")
        assert kinds(events)[-2:] == ["text_delta", "done"]
        assert not events[-1].done.HasField("usage")
        assert harness.usage.entries() == []


async def test_the_routing_agent_quotes_what_its_tools_found() -> None:
    agent = assistant_pb2.MODE_AGENT
    search = tool("search", text="…", sources=["prices.csv"], excerpt=PRICES)
    search.mode = agent
    own = default_assistant(search, function("calculate"), strategy="agent_rules")
    connector = Connector(refusal=NoModelError("No model is connected."))  # type: ignore[abstract] # as in the harness
    async with orchestrating(connector=connector) as harness:
        events = await harness.events(ask(own, "What does the BC108 cost?"))
        assert texts(events).startswith("No language model is connected")
        assert kinds(events)[-1] == "done"


async def test_other_failures_of_the_default_model_fail_the_run() -> None:
    connector = Connector(refusal=UnavailableError("The provider is down."))  # type: ignore[abstract] # as in the harness
    async with orchestrating(connector=connector) as harness:
        with pytest.raises(Exception, match=r".") as caught:
            await harness.events(ask(default_assistant()))
        assert type(from_rpc(caught.value)) is UnavailableError  # type: ignore[arg-type] # an AioRpcError


async def test_a_connected_default_model_answers() -> None:
    async with orchestrating() as harness:
        assert texts(await harness.whole(ask(default_assistant()))) == "Hello"


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What does the course cost?", "found nothing"),
        ("¿Cuánto cuesta el curso?", "No he encontrado"),
        ("Quant costa el curs i quan és?", "No he trobat"),
        ("Zenbat balio du ikastaroak?", "Ez dut"),
        ("Was kostet der Kurs?", "nichts gefunden"),
        ("Combien est le cours et quand ?", "n'ai rien trouvé"),
        ("???", "found nothing"),
    ],
)
def test_a_question_is_declined_in_its_language(question: str, words: str) -> None:
    assert words in declining_answer(question)
