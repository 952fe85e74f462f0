"""The selection matrix: which words of a request lead to which search."""

import re
from enum import Enum

FAST = "fast_vector_search"
HYBRID = "hybrid_search"
PAGES = "colqwen_search"
LOOK = "visual_interpretation"
DOCUMENTS = "retrieve_documents"
WEB = "web_search"

SEARCHES = (HYBRID, FAST, PAGES, DOCUMENTS, WEB)
"""Tools that find texts or pages, the preferred one for another attempt first."""


class Kind(Enum):
    """What kind of request it is."""

    VISUAL = "asks for something drawn"
    TABLE = "asks for what stands in a table"
    FACTUAL = "asks for a simple fact"
    AMBIGUOUS = "is complex or ambiguous"


ROUTES = {
    Kind.VISUAL: (PAGES, HYBRID),
    Kind.TABLE: (HYBRID,),
    Kind.FACTUAL: (FAST, HYBRID),
    Kind.AMBIGUOUS: (HYBRID,),
}
"""The searches for a kind of request, each if the one before it was not enough."""
ELSE = (DOCUMENTS, WEB)
"""Where to look after those."""


def _pattern(phrases: str) -> re.Pattern[str]:
    """Return what finds phrases that `|` separates, with `*` for any ending.

    Only whole words: "configure" asks for no figure.
    """
    listed = (" ".join(phrase.split()) for phrase in phrases.split("|"))
    made = (re.escape(phrase).replace(r"\*", r"\w*") for phrase in listed)
    return re.compile(rf"(?<!\w)(?:{'|'.join(made)})(?!\w)")


# Phrases that hold a word of the matrix and do not mean it.
_IDIOMS = _pattern(
    """figure out|figured out|figuring out|to picture|big picture|table of contents|
    partition table|partition tables|routing table|iso image|disk image|kernel image|boot image|
    cd image|container image|iso images|disk images|kernel images|boot images|cd images|
    initrd image"""
)
_KEYWORDS = (
    (
        Kind.VISUAL,
        _pattern(
            """diagram*|figure|figures|fig.|schematic*|drawing*|picture*|image|images|photo*|
            illustration*|illustrated|screenshot*|chart|charts|graph|graphs|flowchart*|sketch*|
            look like|looks like|visual*|exploded view|
            diagrama*|figura|figuras|figures|esquema*|dibujo*|dibuix*|imagen|imagenes|imágenes|
            imatge*|foto|fotos|captura*|gráfico*|gràfic*|
            schéma*|dessin*|abbildung*|diagramm*|schaltplan*|zeichnung*|bild|bilder"""
        ),
    ),
    (
        Kind.TABLE,
        _pattern(
            """bit code|bit codes|bit map|menu|menus|submenu*|spec|specs|specification*|table|
            tables|tabulated|column|columns|matrix|datasheet*|data sheet*|error code|error codes|
            fault code|fault codes|exit code|exit codes|exit status|exit statuses|
            parameter list|list of|options of|compare|comparison|
            tabla|tablas|taula|taules|menú|menús|especificacion*|especificaci*|códigos de error|
            codis d'error|tableau|tableaux|caractéristiques|tabelle|tabellen|menü*|spezifikation*|
            technische daten"""
        ),
    ),
    (
        Kind.FACTUAL,
        _pattern(
            """what is|what's|what are|what does|what was|define|defined|definition*|meaning of|
            stand for|stands for|voltage*|who is|who wrote|when was|which port|which version|
            which command|which file|which package|which directory|how many|how much|how long|
            how large|how big|how old|where is|name of|default value|default port|abbreviation*|
            qué es|qué son|que es|què és|què són|define|definición|definició|significa|voltaje|
            voltatge|cuánto|cuántos|cuántas|quant|quants|quantes|qu'est-ce|définir|définition|
            was ist|was sind|definiere|spannung|wie viel|wie viele|bedeutet"""
        ),
    ),
)
_LONG = 30
"""Words; a question as long as this is not a simple one."""


def kind_of(request: str) -> Kind:
    """Return what kind of request it is: the first row of the matrix with a word of it."""
    text = _IDIOMS.sub(" ", " ".join(request.casefold().split()))
    for kind, pattern in _KEYWORDS:
        if pattern.search(text) and not (kind is Kind.FACTUAL and _complex(text)):
            return kind
    return Kind.AMBIGUOUS


def _complex(text: str) -> bool:
    return len(text.split()) > _LONG or text.count("?") > 1
