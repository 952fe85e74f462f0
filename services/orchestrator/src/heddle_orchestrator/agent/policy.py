"""What is not left to a model: answering a greeting, and knowing when enough was found."""

from heddle_orchestrator.agent.decision import TEXT_RESPONSE, Choice, Decision
from heddle_orchestrator.agent.environment import words_of
from heddle_orchestrator.agent.matrix import SEARCHES
from heddle_orchestrator.agent.state import State
from heddle_orchestrator.agent.words import covered, listed, words

_ENOUGH = 0.5
_LONGEST_GREETING = 6
_GREETINGS = listed(
    """
    hello hi hey hiya howdy greetings welcome morning afternoon evening night good thanks thank
    thx bye goodbye cheers ok okay great cool nice perfect please sorry test ping hola buenos
    buenas días dias tardes noches gracias adiós adios saludos bon dia bona tarda nit gràcies
    gracies adéu adeu merci moltes salut bonjour bonsoir revoir hallo guten tag morgen abend
    danke tschüss servus ciao grazie buongiorno olá obrigado obrigada
    """
)
_BESIDE = listed(
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
    """Return whether a request asks for nothing that could be looked up."""
    said = tuple(words(request))
    if not said:
        return True
    for start in range(len(said)):
        if said[start:] in _SMALL_TALK and all(map(_is_polite, said[:start])):
            return True
    greets = any(word in _GREETINGS for word in said)
    return greets and len(said) <= _LONGEST_GREETING and all(map(_is_polite, said))


def enough(state: State) -> bool:
    """Return whether what was found is likely to answer the request.

    A search is enough if half of the words that say what the request is about occur in what it
    found; any other tool is if it found something. What a ranking says is not comparable
    between searches, so it does not count.
    """
    environment = state.environment
    if environment.is_empty():
        return False
    others = [found for found in environment.found if found.tool not in SEARCHES and found.objects]
    if others:
        return True
    return covered(state.prompt, words_of(environment.objects())) >= _ENOUGH


def respond(reason: str, decider: str = "policy") -> Decision:
    """Return the decision to answer now."""
    return Decision((Choice(TEXT_RESPONSE),), reason, decider, idle=True)


def _is_polite(word: str) -> bool:
    return word in _GREETINGS or word in _BESIDE
