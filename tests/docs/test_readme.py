"""The README's examples are the real ones."""

import re
from pathlib import Path

import yaml
from heddle_migration_service.documents import AssistantDocument
from heddle_tools_service.registry import Registry

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_tool_of_the_guide_is_a_file_of_under_forty_lines_that_loads() -> None:
    plugins = ROOT / "examples" / "plugins"
    text = (plugins / "glossary.py").read_text()

    assert text in blocks("python")
    assert len(text.splitlines()) < 40
    assert "glossary" in {tool.name for tool in Registry.discover(plugins)}


def test_the_assistant_of_the_guide_is_one() -> None:
    [document] = blocks("yaml")

    assert AssistantDocument.model_validate(yaml.safe_load(document)).tools[0].slot == "context"


def test_every_example_is_an_assistant() -> None:
    files = sorted((ROOT / "examples" / "assistants").glob("*.yaml"))

    documents = [AssistantDocument.model_validate(yaml.safe_load(f.read_text())) for f in files]

    assert [document.id for document in documents] == ["1", "2", "3"]


def test_what_the_readme_names_exists() -> None:
    for name in re.findall(r"^\| `([a-z/-]+)/` \|", README, re.MULTILINE):
        assert (ROOT / name).is_dir(), name
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / target).exists(), target
