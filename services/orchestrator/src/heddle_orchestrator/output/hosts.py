"""The hosts to which images and links in answers may lead."""

from dataclasses import dataclass

from heddle_runtime.contract.host_lists import NO_HOST, WILDCARD

_AND = "&"


def joined(*texts: str) -> str:
    """Return one text for several lists. A host is permitted if all lists contain it."""
    return _AND.join(filter(None, texts))


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """A list of hosts, from an assistant or an organisation."""

    patterns: frozenset[str]

    @classmethod
    def parse(cls, text: str) -> "AllowedHosts | None":
        """Return the hosts between the spaces of a text; None for an empty text: all hosts.

        `*.example.org` stands for all subdomains of a host, and `none` for no host.
        """
        names = text.lower().split()
        return cls(frozenset(names) - {NO_HOST}) if names else None

    def permits(self, host: str) -> bool:
        """Return whether a host is in the list."""
        name = host.lower()
        if name in self.patterns:
            return True
        return any(
            pattern.startswith(WILDCARD) and name.endswith(pattern[1:]) for pattern in self.patterns
        )


@dataclass(frozen=True, slots=True)
class OutputPolicy:
    """The lists of hosts. A host is permitted if all lists contain it."""

    lists: tuple[AllowedHosts, ...]

    @classmethod
    def of(cls, text: str) -> "OutputPolicy | None":
        """Return the policy of a text, or of several that `joined` joined; None without hosts."""
        parsed = map(AllowedHosts.parse, text.split(_AND))
        lists = tuple(hosts for hosts in parsed if hosts is not None)
        return cls(lists) if lists else None

    def permits(self, host: str) -> bool:
        """Return whether images and links may lead to a host."""
        return all(hosts.permits(host) for hosts in self.lists)
