"""The names of the contract's fields in metadata of version 2."""

_NAMES = {
    "model.connector": "connector",
    "model.model": "llm",
    "model": "connector",
    "strategy": "orchestrator",
}


def metadata_field(field: str) -> str:
    """Return the path in the metadata of a path of `heddle.assistant.v1.Assistant`.

    For example `assistant.tools[0].tool` is `tools[0].type`.
    """
    path = field.removeprefix("assistant").removeprefix(".")
    if path.startswith("tools[") and path.endswith("].tool"):
        return f"{path.removesuffix('tool')}type"
    return _NAMES.get(path, path)
