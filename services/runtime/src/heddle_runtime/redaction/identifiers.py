"""Values that are random without being secret: ids of objects, digests, names of pods."""

import re

_IDENTIFIER = re.compile(
    # OpenAI, Anthropic, Stripe
    r"(?:call|fc|resp|msg|rs|req|run|step|thread|asst|toolu|vs|batch|ws|ig|mcp|mcpr|mcpl|conv|item"
    r"|evt|cus|pi|in|sub|cs|prod|price|ch|gen|acct|fp)_[\w-]+"
    r"|(?:chatcmpl|cmpl|file|ftjob|org|proj)-[\w-]+"
    r"|(?:i|ami|eni|eipalloc|igw|lt|rtb|sg|snap|subnet|vol|vpc)-[0-9a-f]{8,17}"  # Amazon
    r"|(?:[\w./:-]+@)?(?:sha(?:1|256|384|512)|md5|SHA256|MD5)[:-].+"
    r"|00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}|1-[0-9a-f]{8}-[0-9a-f]{24}"  # of traces
    r"|(?:[0-9a-fA-F]{1,4}:){4,7}[0-9a-fA-F]{1,4}"  # IPv6
    r"|(?:/[\w.@-]+){2,}/?|[\w.-]+\.(?:css|gz|js|json|log|map|py|txt)"  # paths and files
)
_LOOSE = re.compile(
    r"[a-fA-F0-9]{7,}|[a-fA-F0-9]{8}(?:-[a-fA-F0-9]{4}){3}-[a-fA-F0-9]{12}"
    # Kubernetes: a pod of a deployment or a job, with a suffix
    r"|[a-z][a-z0-9]*(?:-[a-z0-9]+)*-[a-z0-9]{6,10}-[a-z0-9]{5}(?:[_./:].*)?"
    r"|01[0-9A-HJKMNP-TV-Z]{24}"  # ULID
    r"|(?:eyJ|LS0tLS1)[\w+/=-]*"  # JSON in Base64: `decoding` looks into it
)


def is_identifier(value: str, *, loose: bool = False) -> bool:
    """Return whether a value has the form of an id.

    Args:
        value: The value.
        loose: Whether forms that secrets have as well count, for example hexadecimal digits.
    """
    return bool(_IDENTIFIER.fullmatch(value) or (loose and _LOOSE.fullmatch(value)))
