"""The password of PostgreSQL is replaced while the service runs: a second role takes over."""

import asyncio
import secrets

from assistants.postgres import Postgres
from assistants.serving import ADA, Service, serving
from heddle.assistant.v1 import assistant_pb2 as pb
from sqlalchemy.engine import make_url


async def serves(it: Service, name: str) -> None:
    """Check that a service writes and reads."""
    ada = it.as_(ADA)
    number = (await ada.create(name)).assistant.id
    request = pb.GetAssistantRequest(reference=f"lamb_assistant.{number}")
    assert (await ada.ask(ada.assistants.GetAssistant, request)).assistant.name == name


async def test_a_second_role_takes_over_and_the_former_one_goes(postgres_server: Postgres) -> None:
    with postgres_server.database() as owner_url:
        database = postgres_server.name(owner_url)
        owner, one, two = (f"{name}_{secrets.token_hex(4)}" for name in ("owner", "one", "two"))
        postgres_server.execute(f"CREATE ROLE {owner} NOLOGIN")
        postgres_server.execute(f"ALTER DATABASE {database} OWNER TO {owner}")
        try:
            url = login(postgres_server, owner_url, owner, one)
            new_url = login(postgres_server, owner_url, owner, two)
            async with serving(new_url) as new:
                async with serving(url) as former:
                    await asyncio.gather(serves(former, "during"), serves(new, "meanwhile"))
                postgres_server.execute(f"ALTER ROLE {one} NOLOGIN")
                await serves(new, "after")
        finally:
            postgres_server.execute(f"ALTER DATABASE {database} OWNER TO heddle")
            for role in (one, two):
                postgres_server.execute(f"DROP ROLE IF EXISTS {role}")
    postgres_server.execute(f"DROP ROLE {owner}")


def login(server: Postgres, url: str, owner: str, role: str) -> str:
    """Make a role that acts as the owner, and return its URL."""
    password = secrets.token_hex(16)
    server.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{password}' IN ROLE {owner}")
    server.execute(f"ALTER ROLE {role} SET role = {owner}")
    with_role = make_url(url).set(username=role, password=password)
    return with_role.render_as_string(hide_password=False)
