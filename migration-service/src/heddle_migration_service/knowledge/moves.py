"""Which organisations of LAMB store new collections in Heddle, and what the others must change."""

from collections.abc import Collection, Iterator

from heddle.migration.v1 import migration_pb2 as pb

from heddle_migration_service.knowledge.reading import LambReader
from heddle_migration_service.lamb.knowledge_registry import LambRegistry

COLLECTIONS, SERVERS = "kb_collections", "kb_servers"
"""The names of two lists in a report: of collections, and of organisations with their servers."""
MOVED = "LAMB stores its new collections in Heddle."
LEFT = "Only the old server has it. Run `heddle import-lamb --knowledge`."
_OF_THE_SYSTEM = (
    "Set LAMB_KB_SERVER of LAMB to the address of Heddle and LAMB_KB_SERVER_TOKEN to the key, and "
    "restart LAMB."
)
_OF_AN_ORGANIZATION = (
    "LAMB reads the address from {setting} in the settings of the organisation. Set it to the "
    "address of Heddle, and the key beside it, with PUT /creator/admin/organizations/{slug}/config."
)


async def moved(reader: LambReader, registry: LambRegistry) -> set[str]:
    """Return the organisations whose server is Heddle; their collections may be at the old one.

    The registry then names the operator's server for them, which is where an import reads.
    """
    servers = set(registry.servers.values())
    heddles = {each for each in servers if await reader.is_heddle(each)}
    slugs = {slug for slug, server in registry.servers.items() if server in heddles}
    for slug in slugs:
        if registry.operators.url and registry.operators not in heddles:
            registry.servers[slug] = registry.operators
        else:
            del registry.servers[slug]
    return slugs


def servers(registry: LambRegistry, moved_ones: Collection[str]) -> Iterator[pb.Finding]:
    """Yield for each organisation where its new collections are, and what to change."""
    for slug in sorted({*registry.servers, *moved_ones}):
        note, setting = _OF_THE_SYSTEM, registry.settings.get(slug)
        if setting:
            note = _OF_AN_ORGANIZATION.format(setting=setting, slug=slug)
        if slug in moved_ones:
            yield pb.Finding(id=slug, notes=[MOVED])
        else:
            yield pb.Finding(id=slug, name=registry.servers[slug].url, notes=[note])
