"""Fixed rules: greetings are answered at once, and a run ends when its results suffice."""

from heddle_runtime.contract.json_text import members

from heddle_orchestrator.agent.decision import TEXT_RESPONSE, Choice, Decision
from heddle_orchestrator.agent.environment import all_text
from heddle_orchestrator.agent.routers.selection_matrix import SEARCHES
from heddle_orchestrator.agent.state import State
from heddle_orchestrator.agent.word_matching import coverage, word_set, words

_MIN_COVERAGE = 0.5
_MIN_PASSAGE_COVERAGE = 0.34
_MIN_SCORE = 0.5
"""The least similarity of passages that count. Some models score unrelated texts higher."""
_MAX_GREETING_WORDS = 6
_GREETINGS = word_set(
    """
    hello hi hey hiya howdy greetings welcome morning afternoon evening night good thanks thank
    thx bye goodbye cheers ok okay great cool nice perfect please sorry test ping hola buenos
    buenas días dias tardes noches gracias adiós adios saludos bon dia bona tarda nit gràcies
    gracies adéu adeu merci moltes salut bonjour bonsoir revoir hallo guten tag morgen abend
    danke tschüss servus ciao grazie buongiorno olá obrigado obrigada
    """
)
_POLITE_FILLERS = word_set(
    """
    there you all everyone everybody team so much very a lot again to and
    """
)
_SMALL_TALK = frozenset(
    {
        ("how", "are", "you"),
        ("how", "are", "you", "doing"),
        ("how", "do", "you", "do"),
        ("who", "are", "you"),
        ("what's", "up"),
        ("qué", "tal"),
        ("cómo", "estás"),
        ("com", "estàs"),
        ("com", "va"),
        ("ça", "va"),
        ("wie", "geht's"),
    }
)


def is_greeting(request: str) -> bool:
    """Return whether a request contains no question."""
    request_words = tuple(words(request))
    if not request_words:
        return True
    for start in range(len(request_words)):
        before = request_words[:start]
        if request_words[start:] in _SMALL_TALK and all(map(_is_polite, before)):
            return True
    if len(request_words) > _MAX_GREETING_WORDS:
        return False
    greets = any(word in _GREETINGS for word in request_words)
    return greets and all(map(_is_polite, request_words))


def enough(state: State) -> bool:
    """Return whether the results are likely to answer the request.

    The results of searches suffice if they contain half of the content words of the request. A
    result of any other tool always suffices. Scores are not used: they are not comparable between
    searches.
    """
    environment = state.environment
    if environment.is_empty():
        return False
    if any(each.tool not in SEARCHES and each.objects_json for each in environment.findings):
        return True
    return coverage(state.prompt, all_text(environment.objects())) >= _MIN_COVERAGE


def nothing_usable(state: State) -> bool:
    """Return whether tools ran, and nothing that they found is about the request.

    A passage of a search is about the request if it is similar to it, or contains a third of its
    content words. The results of any other tool always are.
    """
    environment = state.environment
    if not state.history or enough(state):
        return False
    return not any(
        _is_about(state.prompt, each)
        for finding in environment.findings
        for each in finding.objects_json
    )


def respond(reason: str, router: str = "policy") -> Decision:
    """Return the decision to answer now."""
    return Decision((Choice(TEXT_RESPONSE),), reason, router, idle=True)


def _is_about(request: str, text: str) -> bool:
    score = members(text).get("score")
    if not isinstance(score, (int, float)) or score >= _MIN_SCORE:
        return True
    return coverage(request, all_text([text])) >= _MIN_PASSAGE_COVERAGE


def _is_polite(word: str) -> bool:
    return word in _GREETINGS or word in _POLITE_FILLERS
