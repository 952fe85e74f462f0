"""The answers without a model: quotes, and that nothing was found."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from heddle.tool.v1 import tool_pb2

from heddle_orchestrator.agent.word_matching import word_set, words
from heddle_orchestrator.quotes.selection import Quote, best_quotes

_MAX_HEADING_CHARS = 80


class _Texts(NamedTuple):
    quotes: str
    nothing: str
    no_sources: str
    connect: str
    page: str
    """With the number of the page."""
    common: frozenset[str]
    """Words that tell the language of a question."""


_TEXTS: Mapping[str, _Texts] = {
    "en": _Texts(
        "No language model is connected, so this answer only quotes what was found:",
        "No language model is connected, and no sentence that was found matches the question.",
        "No language model is connected, so there is no answer yet.",
        "An administrator connects a model in the studio, under “Connect a model”.",
        "page {}",
        word_set("what which when how is are the of does for who where many much"),
    ),
    "es": _Texts(
        "No hay ningún modelo de lenguaje conectado: esta respuesta solo cita lo que se encontró.",
        "No hay ningún modelo de lenguaje conectado, y ninguna frase encontrada trata de la "
        "pregunta.",
        "No hay ningún modelo de lenguaje conectado; todavía no hay respuesta.",
        "La administración conecta un modelo en el estudio, en «Conectar un modelo».",
        "página {}",
        word_set("qué cuál cuándo cuánto cuántos cuánta cómo es son el los las de del para dónde"),
    ),
    "ca": _Texts(
        "No hi ha cap model de llenguatge connectat: aquesta resposta només cita el que s'ha "
        "trobat.",
        "No hi ha cap model de llenguatge connectat, i cap frase trobada respon la pregunta.",
        "No hi ha cap model de llenguatge connectat; encara no hi ha resposta.",
        "L'administració connecta un model a l'estudi, a «Connecta un model».",
        "pàgina {}",
        word_set("què quin quina quan quant quants quanta com és són els les dels amb per on"),
    ),
    "eu": _Texts(
        "Ez dago hizkuntza-eredurik konektatuta: erantzun honek aurkitutakoa aipatzen du soilik.",
        "Ez dago hizkuntza-eredurik konektatuta, eta aurkitutako esaldiek ez dute galdera "
        "erantzuten.",
        "Ez dago hizkuntza-eredurik konektatuta; oraindik ez dago erantzunik.",
        "Administratzaileak eredu bat konektatzen du estudioan, «Konektatu eredu bat» atalean.",
        "{}. orrialdea",
        word_set("zer zein noiz zenbat nola da dira eta nor non zergatik du dute"),
    ),
}
_DECLINING: Mapping[str, str] = {
    "en": "I found nothing about this in the documents, so I cannot answer it.",
    "es": "No he encontrado nada sobre esto en los documentos, así que no puedo responder.",
    "ca": "No he trobat res sobre això en els documents, així que no puc respondre.",
    "eu": "Ez dut honi buruz ezer aurkitu dokumentuetan, eta ezin dut erantzun.",
    "de": "Dazu habe ich in den Dokumenten nichts gefunden; ich kann es nicht beantworten.",
    "fr": "Je n'ai rien trouvé à ce sujet dans les documents et ne peux donc pas répondre.",
}
_COMMON: Mapping[str, frozenset[str]] = {
    **{language: texts.common for language, texts in _TEXTS.items()},
    "de": word_set("was wie wann wo wer welche welcher welches warum ist sind der die das"),
    "fr": word_set("quel quelle quels quelles quand comment combien est sont où qui pourquoi une"),
}


def answer(question: str, sources: Iterable[tool_pb2.Source], *, searched: bool) -> str:
    """Return the answer to a question, as Markdown.

    Args:
        question: The words of the user.
        sources: What the tools found, best first.
        searched: Whether tools looked for something.
    """
    own = {language: each.common for language, each in _TEXTS.items()}
    texts = _TEXTS[_language(question, own)]
    quotes = best_quotes(question, list(sources))
    if quotes:
        return "\n\n".join([texts.quotes, *(_shown(each, texts) for each in quotes), texts.connect])
    return f"{texts.nothing if searched else texts.no_sources} {texts.connect}"


def declining_answer(question: str) -> str:
    """Return the sentence that the documents do not answer a question, in its language."""
    return _DECLINING[_language(question, _COMMON)]


def _language(question: str, common: Mapping[str, frozenset[str]]) -> str:
    """Return the language with the most common words in a question, English if none has any."""
    used = set(words(question))
    return max(common, key=lambda language: len(used & common[language]))


def _shown(quote: Quote, texts: _Texts) -> str:
    lines: list[str] = []
    header = ""
    for unit in quote.units:
        if unit.header:
            cells = _row(unit.header)
            if unit.header != header:
                lines += [cells, "|" + " --- |" * (cells.count("|") - 1)]
            lines.append(_row(unit.text))
        else:
            lines.append(f"{unit.text}  ")
        header = unit.header
    return "\n".join([*(f"> {line}" for line in lines), "", f"— {_place(quote.source, texts)}"])


def _row(line: str) -> str:
    return f"| {line.strip().strip('|').strip()} |"


def _place(source: tool_pb2.Source, texts: _Texts) -> str:
    """Return the title of a source with its section and page."""
    heading = source.attributes.get("heading", "").rpartition(" / ")[2]
    page = source.attributes.get("page", "")
    parts: Sequence[str] = (
        source.title,
        heading if len(heading) <= _MAX_HEADING_CHARS and heading != source.title else "",
        texts.page.format(page) if page else "",
    )
    return ", ".join(filter(None, parts))
