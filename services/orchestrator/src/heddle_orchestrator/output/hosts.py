"""The hosts to which images and links in answers may lead."""

from dataclasses import dataclass

from heddle_runtime.contract.host_lists import NO_HOST, WILDCARD

_AND = "&"


def joined(*texts: str) -> str:
    """Return one text for several lists. A host is permitted if all lists contain it."""
    return _AND.join(filter(None, texts))


@dataclass(frozen=True, slots=True)
class OutputPolicy:
    """Lists of hosts, of an assistant and of organisations. All must permit a host."""

    lists: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, text: str) -> "OutputPolicy | None":
        """Return the policy of a text, or of several that `joined` joined; None without hosts.

        Spaces separate hosts. `*.example.org` stands for all subdomains of a host, and `none` for
        no host.
        """
        lists = [frozenset(each.lower().split()) for each in text.split(_AND)]
        permitted = tuple(each - {NO_HOST} for each in lists if each)
        return cls(permitted) if permitted else None

    def permits(self, host: str) -> bool:
        """Return whether images and links may lead to a host."""
        return all(_contains(each, host.lower()) for each in self.lists)


def _contains(hosts: frozenset[str], host: str) -> bool:
    subdomains = (each for each in hosts if each.startswith(WILDCARD))
    return host in hosts or any(host.endswith(each[1:]) for each in subdomains)
