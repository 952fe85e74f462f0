"""E-mail addresses. They are personal data, not secrets: passages and messages may contain them."""

from heddle_runtime.redaction.scan import Groups, Span, rule


def _address(_: str, groups: Groups) -> Span:
    return groups[0]


RULES = (rule(r"\b[A-Z0-9._%+-]+@[A-Z0-9-]+(?:\.[A-Z0-9-]+)*\.[A-Z]{2,}\b", _address),)
