"""How much memory a process that opens files of strangers may have."""

import resource


def limit_memory(most: int) -> None:
    """Let this process have at most so many bytes, less if it is limited already."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or hard > most:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
