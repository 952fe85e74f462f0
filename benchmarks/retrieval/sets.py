"""All labelled sets by name."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType

from benchmarks.retrieval.descriptions import glossary, packages
from benchmarks.retrieval.labelled import (
    Labelled,
    construction_across,
    construction_faq,
    construction_questions,
    semanlink,
)
from benchmarks.retrieval.manuals import THREE, manuals

_TRANSLATED = (
    "en",
    "de",
    "fr",
    "es",
    "it",
    "pt",
    "da",
    "sv",
    "nl",
    "fi",
    "ru",
    "ja",
    "ko",
    "zh",
    "pl",
)

SETS: Mapping[str, Callable[[Path], Labelled]] = MappingProxyType(
    {
        "semanlink": semanlink,
        "semanlink-titles": partial(semanlink, titles=True),
        "faq-en": partial(construction_faq, language="en"),
        "faq-en-back": partial(construction_questions, language="en"),
        "faq-sv-120": partial(construction_faq, language="sv", subset=True),
        "faq-sv": partial(construction_faq, language="sv"),
        "faq-sv-back": partial(construction_questions, language="sv"),
        "faq-en-sv": construction_across,
        "pages": partial(manuals, name="pages", paths=THREE, limit=0.82),
        "pages-gnuplot": partial(
            manuals, name="pages-gnuplot", paths=["gnuplot-doc/gnuplot/gnuplot.pdf"]
        ),
        "pages-faq-de": partial(
            manuals,
            name="pages-faq-de",
            paths=["debian-faq-de/debian/FAQ/debian-faq.de.pdf.gz"],
            language="de",
        ),
        "pages-faq-fr": partial(
            manuals,
            name="pages-faq-fr",
            paths=["debian-faq-fr/debian/FAQ/debian-faq.fr.pdf.gz"],
            language="fr",
        ),
        "pages-de": partial(
            manuals,
            name="pages-de",
            paths=["debmake-doc/debmake-doc/debmake-doc.de.pdf"],
            language="de",
        ),
        "glossary": glossary,
        "summaries-en": partial(packages, language="en", back=True),
        **{f"packages-{each}": partial(packages, language=each) for each in _TRANSLATED},
    }
)
