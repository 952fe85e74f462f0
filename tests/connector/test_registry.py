"""Finding connectors, and saying why some are not there."""

import inspect
from collections.abc import Sequence
from pathlib import Path

import pytest
from heddle.connector.v1 import connector_pb2 as pb
from heddle_connector.connectors.bypass import Bypass
from heddle_connector.routing.registry import installed
from heddle_connector.sdk import Connector, Model, NoSettings
from heddle_runtime.errors import NotFoundError, ProviderGarbledError
from heddle_runtime.identity.call_metadata import new_call_options

from connector.service import answer, asked, events, failure, service

BUILTIN = sorted([*installed().loaded, "default"])
MIRROR = '''
"""A connector in one file."""
from heddle_connector.sdk import Connector, Done, Example, Model, TextDelta, connector

@connector("mirror", example=Example(model="plain", answer="Say hello."))
class Mirror(Connector):
    """Answers with the question."""

    async def models(self, seconds):
        return [Model("plain", "Plain mirror", ["image"])]

    async def generate(self, call):
        yield [TextDelta(call.messages[-1]["content"])]
        yield []
        yield [Done("stop")]
'''
NO_END = MIRROR.replace('"mirror"', '"endless"').replace('yield [Done("stop")]', "")
CHATTY = MIRROR.replace('"mirror"', '"chatty"').replace(
    'yield [Done("stop")]', 'yield [Done("stop"), TextDelta("and")]; yield [Done("length")]'
)
ODD = MIRROR.replace('"mirror"', '"odd"').replace("return [Model", "[].pop()  # [Model")
PICKY = MIRROR.replace('@connector("mirror"', '@connector("picky", settings=PickySettings').replace(
    "@connector(",
    """from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict
class PickySettings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="HEDDLE_CONNECTOR_PICKY_")
    size: int = Field(description="How much.")
@connector(""",
    1,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "mirror.py": MIRROR,
        "endless.py": NO_END,
        "chatty.py": CHATTY,
        "odd.py": ODD,
        "picky.py": PICKY,
        "broken.py": "import nothing_of_that_name",
        "second_bypass.py": MIRROR.replace('"mirror"', '"bypass"'),
        "named.py": MIRROR.replace('"mirror"', '"Not A Name"'),
        "_ignored.py": "raise SystemExit",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    return tmp_path


async def test_a_file_in_the_folder_is_a_connector(folder: Path) -> None:
    async with service(plugins_dir=folder) as stub:
        listed = await stub.ListConnectors(pb.ListConnectorsRequest(), **new_call_options(5))
        models = await stub.ListModels(
            pb.ListModelsRequest(connector="mirror"), **new_call_options(5)
        )
        found = await events(stub, asked("mirror", "plain"))
    mirror = next(item for item in listed.connectors if item.name == "mirror")
    assert mirror.origin == "folder:mirror.py"
    assert mirror.description == "Answers with the question."
    assert [item.name for item in listed.connectors if item.debugging] == ["bypass"]
    (model,) = models.models
    assert (model.ref.connector, model.ref.model) == ("mirror", "plain")
    assert model.title == "Plain mirror"
    assert list(model.input_kinds) == [pb.INPUT_KIND_IMAGE]
    assert answer(found) == "Say hello."


async def test_a_connector_that_does_not_load_is_reported_and_hides_no_other(folder: Path) -> None:
    async with service(plugins_dir=folder) as stub:
        listed = await stub.ListConnectors(pb.ListConnectorsRequest(), **new_call_options(5))
    names = [item.name for item in listed.connectors]
    assert names == sorted([*BUILTIN, "chatty", "endless", "mirror", "odd"])
    problems = {item.connector: item.message for item in listed.problems}
    assert "nothing_of_that_name" in problems["folder:broken.py"]
    assert "taken by builtin" in problems["folder:second_bypass.py"]
    assert "is not a connector's name" in problems["folder:named.py"]
    assert problems["picky"] == "HEDDLE_CONNECTOR_PICKY_SIZE: Field required"


async def test_a_connector_that_fails_to_list_its_models_hides_no_other(folder: Path) -> None:
    async with service(plugins_dir=folder) as stub:
        found = await stub.ListModels(pb.ListModelsRequest(), **new_call_options(5))
    assert "mirror" in {model.ref.connector for model in found.models}
    problems = {item.connector: item.message for item in found.problems}
    assert problems["odd"] == "The connector failed. The service's log contains the cause."


async def test_a_wrong_setting_is_named_without_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", "http://me:hunter22@localhost/v1")
    async with service() as stub:
        listed = await stub.ListConnectors(pb.ListConnectorsRequest(), **new_call_options(5))
        error = await failure(stub, asked())
    (problem,) = listed.problems
    assert "HEDDLE_CONNECTOR_OPENAI_BASE_URL" in problem.message
    assert "hunter22" not in problem.message
    assert type(error) is NotFoundError


async def test_an_answer_without_its_end_is_garbled_and_nothing_follows_an_end(
    folder: Path,
) -> None:
    async with service(plugins_dir=folder) as stub:
        assert type(await failure(stub, asked("endless", "plain"))) is ProviderGarbledError
        found = await events(stub, asked("chatty", "plain"))
    assert answer(found) == "Say hello."


async def test_an_unknown_connector_is_not_found_and_the_installed_ones_are_named() -> None:
    async with service() as stub:
        error = await failure(stub, asked("nobody", "x"))
    assert type(error) is NotFoundError
    assert error.message == f"No connector is named 'nobody'. There are: {', '.join(BUILTIN)}."


async def test_connectors_come_in_pages() -> None:
    async with service() as stub:
        first = await stub.ListConnectors(
            pb.ListConnectorsRequest(page_size=3), **new_call_options(5)
        )
        request = pb.ListConnectorsRequest(page_size=100, page_token=first.next_page_token)
        second = await stub.ListConnectors(request, **new_call_options(5))
    names = [item.name for page in (first, second) for item in page.connectors]
    assert names == BUILTIN
    assert len(first.connectors) == 3
    assert second.next_page_token == ""


def test_a_decorated_class_is_described_by_its_docstring() -> None:
    assert Bypass.plugin.name == "bypass"
    assert Bypass.plugin.description.startswith("Shows the finished prompt")


def test_a_connector_that_cannot_generate_is_none() -> None:
    class Mute(Connector[NoSettings]):
        """Says nothing."""

        async def models(self, seconds: float) -> Sequence[Model]:
            return [Model(f"silence of {seconds}")]

    assert inspect.isabstract(Mute)
    with pytest.raises(TypeError, match="generate"):
        Mute()  # type: ignore[abstract, call-arg] # which is what is tested
