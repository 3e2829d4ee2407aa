"""The page of the API: its OpenAPI document, to be read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from search.render.page.document import Page, about, text

_LIMITS = {
    "minimum": "{} or more",
    "maximum": "{} or less",
    "minLength": "not empty",
    "maxLength": "{:,} characters at most",
    "minItems": "{} at least",
    "maxItems": "{} at most",
}
_PYTHON = """import json
from urllib.parse import urlencode
from urllib.request import urlopen

query = urlencode({{"q": "where are the keys?", "k": 3}})
with urlopen(f"{base}/api/v1/search?{{query}}") as answer:
    for hit in json.load(answer)["hits"]:
        print(f"{{hit['score']:.3f}}  {{hit['document']}}:{{hit['line_start']}}")"""
_ANY = 2**53 - 1  # beyond which whole numbers are no more what they seem

Schema = Mapping[str, Any]


def reference(described: Schema, base: str) -> Page:
    """The page of an API.

    Args:
        described: its OpenAPI document, of the kind that `search.serving.openapi` makes.
        base: the address of the server, for examples.
    """
    paths, schemas = described["paths"], described["components"]["schemas"]
    listed = "".join(
        f'<li><a href="#{_anchor(path)}"><code>{text(path)}</code></a> {_said(_of(operations)["summary"])}</li>'
        for path, operations in paths.items()
    )
    first = _of(next(iter(paths.values())))
    answers = {name: schema for name, schema in schemas.items() if name in _reached(paths, schemas)}
    body = f"""<p>{_said(described["info"]["description"])}</p>
<p>Every address takes its parameters by GET as they stand here; those that have no id in them also by POST, as one JSON
object with the same names. Nothing is changed by asking. For programs: the
<a href="/openapi.json">OpenAPI document</a>.</p>
<h2>Addresses</h2>
<ul class="operations">{listed}</ul>
<h2>In Python</h2><pre class="example">{text(_PYTHON.format(base=base))}</pre>
{"".join(_operation(path, operations, base) for path, operations in paths.items())}
<h2 id="problems">Problems</h2>
<p>What cannot be answered is said as <code>application/problem+json</code> (RFC 9457), a
<a href="#Problem">Problem</a>. Programs go by its <code>code</code>, which stays what it is.</p>
{_problems(first["responses"])}
<h2 id="answers">Answers</h2>
{"".join(_model(name, schema) for name, schema in sorted(answers.items()))}"""
    said = about(said=f"seewhy {text(described['info']['version'])}")
    return Page("The API of seewhy", "The API", said, body, ("reference.css",))


def _of(operations: Schema) -> Any:
    """What is asked by GET, if that is."""
    return operations.get("get") or next(iter(operations.values()))


def _operation(path: str, operations: Schema, base: str) -> str:
    operation = _of(operations)
    methods = " and ".join(method.upper() for method in operations)
    answered = operation["responses"]["200"]["content"]
    kinds = ", or ".join(
        f"{_kind(content['schema'])} as <code>{text(media)}</code>" for media, content in answered.items()
    )
    paragraphs = "".join(f"<p>{_said(part)}</p>" for part in operation["description"].split("\n\n"))
    rows = [
        (
            f"<code>{text(one['name'])}</code>",
            _kind(one["schema"]),
            " ".join(
                filter(None, (_said(one.get("description", "")), _more(one["schema"], one["required"])))
            ),
        )
        for one in sorted(operation.get("parameters", ()), key=lambda one: not one["required"])
    ]
    return f"""<section><h3 id="{_anchor(path)}"><code>{text(path)}</code> <small>{methods}</small></h3>
{paragraphs}{_table(("Parameter", "Type", "Meaning"), rows)}
<p>Answers with {kinds}.</p>
<pre class="example">{text(_curl(path, operation.get("x-example", {}), base))}</pre></section>"""


def _curl(path: str, example: Schema, base: str) -> str:
    """A request that a shell sends."""
    named = {name: value for name, value in example.items() if f"{{{name}}}" in path}
    query = urlencode({name: value for name, value in example.items() if name not in named}, doseq=True)
    return f"curl '{base}{path.format(**named)}{'?' if query else ''}{query}'"


def _problems(responses: Schema) -> str:
    rows = []
    for status, response in responses.items():
        phrase, *codes = response["description"].split("\n- ")
        for code in codes if int(status) >= 400 else ():
            name, _, when = code.partition(": ")
            rows.append((f"{_said(name)}", f"{status} {text(phrase)}", _said(when)))
    return _table(("Code", "Status", "When"), rows)


def _model(name: str, schema: Schema) -> str:
    rows = [
        (f"<code>{text(key)}</code>", _kind(one), _said(one.get("description", "")))
        for key, one in schema.get("properties", {}).items()
    ]
    said = _said(schema.get("description", ""))
    table = _table(("Key", "Type", "Meaning"), rows)
    return f'<section><h3 id="{name}">{text(name)}</h3><p>{said}</p>{table}</section>'


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table, of HTML; the first cell of each row is its head."""
    listed = []
    for first, *others in rows:
        cells = "".join(f"<td>{cell}</td>" for cell in others)
        listed.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(listed)}</tbody></table>" if listed else ""


def _kind(schema: Schema) -> str:
    """What a value is, as HTML."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f'<a href="#{name}">{text(name)}</a>'
    if "anyOf" in schema:
        return " or ".join(map(_kind, schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        values = schema.get("enum") or [schema["const"]]
        return ", ".join(f"<code>{text(json.dumps(value))}</code>" for value in values)
    if schema.get("type") == "array":
        return f"list of {_kind(schema['items'])}" if schema.get("items") else "list"
    return text(schema.get("type", "anything"))


def _more(schema: Schema, required: bool) -> str:
    """What else is to be known of a parameter: limits and default."""
    within: Schema = next((one for one in schema.get("anyOf", ()) if set(one) & set(_LIMITS)), {})
    limits = {**within, **schema}
    said = [form.format(limits[key]) for key, form in _LIMITS.items() if limits.get(key, _ANY) < _ANY]
    default = schema.get("default")
    if default not in (None, [], ""):
        said.append(f"default {json.dumps(default)}")
    return f"<small>{text('; '.join([*said, *(['required'] if required else [])]))}</small>"


def _said(words: str) -> str:
    """Text in which names stand between backticks."""
    parts = enumerate(words.replace("\n", " ").split("`"))
    return "".join(f"<code>{text(part)}</code>" if i % 2 else text(part) for i, part in parts)


def _reached(paths: Schema, schemas: Schema) -> set[str]:
    """The names of what comes back, and of what is in it."""
    names: set[str] = set()
    new = set(_names([_of(operations)["responses"] for operations in paths.values()]))
    while new:
        names |= new
        new = set(_names([schemas[name] for name in new])) - names
    return names


def _names(schema: object) -> list[str]:
    return re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(schema))


def _anchor(path: str) -> str:
    return re.sub(r"[^a-z]+", "-", path.removeprefix("/api/v1").lower()).strip("-")
