"""The REST routes, from the document that the gateway serves at `/openapi.json`."""

from typing import Any

from docs.reference import markdown, services
from docs.reference.tools import kind, schema_table

Document = dict[str, Any]
_METHODS = ("get", "post", "put", "patch", "delete")


def pages() -> dict[str, str]:
    """Return a page for each tag, and their index."""
    return from_document(services.openapi())


def from_document(document: Document) -> dict[str, str]:
    """Return the pages of `document`."""
    by_tag: dict[str, list[tuple[str, str, Document]]] = {}
    for path, methods in document["paths"].items():
        for method in _METHODS:
            if operation := methods.get(method):
                tag = (operation.get("tags") or ["Other"])[0]
                by_tag.setdefault(tag, []).append((method, path, operation))
    descriptions = {tag["name"]: tag.get("description", "") for tag in document.get("tags", [])}
    written = {
        f"rest/{markdown.anchor(tag)}.md": markdown.page(
            tag, descriptions.get(tag, ""), *(_operation(document, *each) for each in operations)
        )
        for tag, operations in by_tag.items()
    }
    rows = [
        (
            f"[`{method.upper()} {path}`](rest/{markdown.anchor(tag)}.md#{_anchor(method, path)})",
            operation.get("summary", ""),
        )
        for tag, operations in by_tag.items()
        for method, path, operation in operations
    ]
    index = markdown.table(("Route", "Summary"), rows)
    introduction = document["info"].get("description", "")
    return {**written, "rest.md": markdown.page("REST", introduction, index)}


def undocumented(document: Document) -> list[str]:
    """Return the routes, parameters and properties without a description."""
    missing: list[str] = []
    for path, methods in document["paths"].items():
        for method in _METHODS:
            if operation := methods.get(method):
                if not operation.get("summary") and not operation.get("description"):
                    missing.append(f"{method.upper()} {path}")
                for each in operation.get("parameters", []):
                    parameter = _resolved(document, each)
                    if not parameter.get("description"):
                        missing.append(f"{method.upper()} {path}: {parameter['name']}")
    return missing


def _operation(document: Document, method: str, path: str, operation: Document) -> str:
    parts = [
        f"## {method.upper()} {path} {{#{_anchor(method, path)}}}",
        f"**{operation['summary']}**" if operation.get("summary") else "",
        operation.get("description", ""),
    ]
    parameters = [_resolved(document, each) for each in operation.get("parameters", [])]
    rows = [
        (
            markdown.code(each["name"]),
            f"{each['in']}, required" if each.get("required") else each["in"],
            kind(each.get("schema", {})),
            each.get("description", ""),
        )
        for each in parameters
    ]
    parts.append(markdown.table(("Parameter", "In", "Type", "Description"), rows))
    body = _resolved(document, operation.get("requestBody", {}))
    for media, content in body.get("content", {}).items():
        parts += [f"Request body, `{media}`:", _schema(document, content.get("schema", {}))]
    answers = [
        (status, _answer(document, response)) for status, response in operation["responses"].items()
    ]
    parts.append(markdown.table(("Status", "Answer"), answers))
    parts.append(markdown.block(_curl(method, path, body), "bash"))
    return "\n\n".join(part.strip("\n") for part in parts if part.strip())


def _answer(document: Document, response: Document) -> str:
    resolved = _resolved(document, response)
    kinds = [
        f"{kind(content.get('schema', {}))} (`{media}`)"
        for media, content in resolved.get("content", {}).items()
    ]
    return ". ".join(each for each in (resolved.get("description", "").rstrip("."), *kinds) if each)


def _schema(document: Document, schema: Document) -> str:
    """Return the properties of `schema`, those of its parts included."""
    resolved = _resolved(document, schema)
    tables = [schema_table(resolved)]
    for word in ("allOf", "anyOf", "oneOf"):
        tables += [_schema(document, part) for part in resolved.get(word, [])]
    return "\n\n".join(each for each in tables if each) or markdown.code(kind(resolved))


def _curl(method: str, path: str, body: Document) -> str:
    lines = [f'curl -X {method.upper()} "$HEDDLE_URL{path}"', '-H "authorization: Bearer $KEY"']
    for media in list(body.get("content", {}))[:1]:
        if media == "application/json":
            lines += [f"-H 'content-type: {media}'", "-d @body.json"]
        elif media == "multipart/form-data":
            lines += ["-F file=@FILE"]
    return " \\\n  ".join(lines)


def _resolved(document: Document, value: Document) -> Document:
    while "$ref" in value:
        target: Any = document
        for key in str(value["$ref"]).removeprefix("#/").split("/"):
            target = target[key.replace("~1", "/").replace("~0", "~")]
        value = target
    return value


def _anchor(method: str, path: str) -> str:
    return markdown.anchor(f"{method} {path}")
