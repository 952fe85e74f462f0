"""The selection matrix: keywords of a request and the searches they lead to."""

import re
from enum import Enum

FAST = "fast_vector_search"
HYBRID = "hybrid_search"
PAGES = "colqwen_search"
VISUAL_INTERPRETATION = "visual_interpretation"
DOCUMENTS = "retrieve_documents"
METADATA = "query_documents_metadata"
GRAPH = "graph_search"
WEB = "web_search"

SEARCHES = (HYBRID, FAST, PAGES, DOCUMENTS, WEB)
"""All search tools, in the order in which a search is repeated."""


class Kind(Enum):
    """The kind of a request."""

    INVENTORY = "asks which documents there are"
    THEMES = "asks what the documents are about as a whole"
    VISUAL = "asks for a figure"
    TABLE = "asks for a table"
    FACTUAL = "asks for a simple fact"
    AMBIGUOUS = "is complex or ambiguous"


ROUTES = {
    Kind.INVENTORY: (METADATA, GRAPH, HYBRID),
    Kind.THEMES: (GRAPH, METADATA, HYBRID),
    Kind.VISUAL: (PAGES, HYBRID),
    Kind.TABLE: (HYBRID,),
    Kind.FACTUAL: (FAST, HYBRID),
    Kind.AMBIGUOUS: (HYBRID,),
}
"""The searches for each kind. Each search runs if the results before it are not enough."""
FALLBACK_SEARCHES = (DOCUMENTS, WEB)
"""The searches that run after those of the kind."""


def _pattern(phrases: str) -> re.Pattern[str]:
    """Return a pattern of phrases that `|` separates. A `*` stands for any ending.

    Only whole words match: "configure" does not contain "figure".
    """
    normalized = (" ".join(phrase.split()) for phrase in phrases.split("|"))
    escaped = (re.escape(phrase).replace(r"\*", r"\w*") for phrase in normalized)
    return re.compile(rf"(?<!\w)(?:{'|'.join(escaped)})(?!\w)")


# The documents themselves, in the languages of Heddle's users.
_DOCUMENTS = (
    r"(?:documents?|files?|pdfs?|documentos?|archivos?|ficheros?|fitxers?|arxius?|fichiers?|"
    r"dokumenten?|dateien|datei)"
)
_HOW_MANY = r"(?:how\ many|cuántos|cuántas|quants|quantes|combien\ de|wie\ viele)"
_EXTREMES = (
    r"(?:largest|biggest|longest|smallest|newest|latest|oldest|most\ recent|"
    r"neueste[sn]?|größte[sn]?|älteste[sn]?)"
)
_INVENTORY = re.compile(
    rf"""(?<!\w)(?:
      {_HOW_MANY}\ (?:\w+\ ){{0,2}}{_DOCUMENTS}
    | {_EXTREMES}\ (?:\w+\ )?{_DOCUMENTS}
    | (?:documento|archivo|fitxer|document|fichier)\ (?:le\ )?(?:plus|más|més)\ \w+
    | (?:list|name)\ (?:(?:all|the|my|our|of)\ ){{0,3}}{_DOCUMENTS}
    | (?:which|what)\ {_DOCUMENTS}\ (?:are\ there|do\ (?:you|i|we)\ have|were|are\ (?:from|of|by))
    | {_DOCUMENTS}\ (?:of|from|in|since|before|after|de|del|von|aus|seit)\ \d{{4}}
    )(?!\w)""",
    re.VERBOSE,
)
_THEMES = re.compile(
    rf"""(?<!\w)(?:
      (?:main|principal|central)\ (?:themes?|topics?|subjects?)
    | (?:what|which)\ (?:themes|topics|subjects)
    | (?:themes|topics)\ (?:of|in)\ (?:\w+\ ){{0,2}}(?:{_DOCUMENTS}|collection)
    | what\ (?:are|is)\ (?:\w+\ ){{0,2}}(?:{_DOCUMENTS}|collection|knowledge\ base)\ about
    | overview\ of\ (?:\w+\ ){{0,2}}(?:{_DOCUMENTS}|collection)
    | (?:temas|temes)\ principale?s | de\ qué\ tratan | de\ què\ tracten
    | (?:principaux\ thèmes|thèmes\ principaux) | hauptthemen
    )(?!\w)""",
    re.VERBOSE,
)
# Phrases that contain a keyword with another meaning.
_IDIOMS = _pattern(
    """figure out|figured out|figuring out|to picture|big picture|table of contents|
    partition table|partition tables|routing table|iso image|disk image|kernel image|boot image|
    cd image|container image|iso images|disk images|kernel images|boot images|cd images|
    initrd image"""
)
_KEYWORDS = (
    (Kind.INVENTORY, _INVENTORY),
    (Kind.THEMES, _THEMES),
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
_MAX_FACTUAL_WORDS = 30
"""The longest simple factual question, in words."""


def kind_of(request: str) -> Kind:
    """Return the kind of a request: the first row of the matrix with a keyword in it."""
    text = _IDIOMS.sub(" ", " ".join(request.casefold().split()))
    for kind, pattern in _KEYWORDS:
        if pattern.search(text) and not (
            kind is Kind.FACTUAL and (len(text.split()) > _MAX_FACTUAL_WORDS or text.count("?") > 1)
        ):
            return kind
    return Kind.AMBIGUOUS
