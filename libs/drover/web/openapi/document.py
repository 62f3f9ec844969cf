"""From operations to the document: paths, schemas of every type that they name, refusals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, get_origin

import msgspec
from msgspec.inspect import multi_type_info

from drover.web.openapi.docstrings import field_texts
from drover.web.openapi.operation import JSON, Answer, AnyOf, Operation, Parameter, Schema

OPENAPI: Final = "3.1.0"
_REF: Final = "#/components/schemas/{name}"
_REST: Final = "/rest/"
_USUAL: Final[Mapping[str, tuple[int, ...]]] = {"token": (401, 403), "cron secret": (401,), "anybody": ()}
_SECURITY: Final[Mapping[str, list[dict[str, list[str]]]]] = {
    "token": [{"bearer": []}, {"apikey": []}],
    "cron secret": [{"cron": []}, {"bearer": []}],
    "anybody": [],
}


class Error(msgspec.Struct, omit_defaults=True):
    """A refusal under `/api` and `/auth`."""

    error: str
    """A word that never changes its meaning: programs tell refusals apart by it."""
    message: str
    """For people."""
    details: Any = None
    """Which field it was, and what it was, or what else can be told."""
    hint: str | None = None
    error_code: str | None = None
    """Under `/auth`, where Supabase's clients look for it."""


class RestError(msgspec.Struct):
    """A refusal under `/rest`, as PostgREST has it."""

    code: str
    message: str
    details: Any
    hint: str | None


def document(operations: Sequence[Operation], *, title: str, version: str, description: str) -> dict[str, Any]:
    types = _Types([Error, RestError, *(type_ for operation in operations for type_ in _types_of(operation))])
    paths: dict[str, dict[str, Any]] = {}
    for operation in sorted(operations, key=lambda one: one.path):
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation, types)
    return {
        "openapi": OPENAPI,
        "info": {"title": title, "version": version, "description": description},
        "tags": [{"name": tag} for tag in sorted({operation.tag for operation in operations})],
        "paths": paths,
        "components": {"schemas": types.components, "securitySchemes": _SCHEMES},
    }


_SCHEMES: Final = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key, or the access token of somebody who signed in.",
    },
    "apikey": {"type": "apiKey", "in": "header", "name": "apikey", "description": "An API key, as Supabase's are."},
    "cron": {"type": "apiKey", "in": "header", "name": "X-Cron-Secret"},
}


class _Types:
    """Schemas by type. Asked for in one go, so that types of one name are told apart."""

    def __init__(self, types: Iterable[Any]) -> None:
        wanted = list({id(part): part for type_ in types for part in _parts(type_)}.values())
        made = [type_ for type_ in wanted if isinstance(type_, Schema)]
        known = [type_ for type_ in wanted if not isinstance(type_, Schema)]
        schemas, components = msgspec.json.schema_components(known, ref_template=_REF)
        self._schemas = {id(type_): schema for type_, schema in zip(known, schemas, strict=True)}
        self._kept = wanted  # ids are those of living objects
        self._schemas |= {id(type_): {"$ref": _REF.format(name=type_.name)} for type_ in made}
        _add_texts(components, known)
        components |= {type_.name: dict(type_.schema) for type_ in made}
        self.components = dict(sorted(components.items()))

    def __getitem__(self, type_: Any) -> dict[str, Any]:
        if isinstance(type_, AnyOf):
            return {"anyOf": [self[part] for part in type_.types]}
        return self._schemas[id(type_)]


def _parts(type_: Any) -> tuple[Any, ...]:
    return type_.types if isinstance(type_, AnyOf) else (type_,)


def _add_texts(components: dict[str, Any], types: list[Any]) -> None:
    classes = {cls.__name__: cls for cls in _structs(types)}
    for component in components.values():
        cls = classes.get(component.get("title", "").partition("[")[0])
        texts = {} if cls is None else field_texts(cls)
        for name, schema in component.get("properties", {}).items():
            if name in texts:
                schema["description"] = texts[name]  # beside a $ref, too: 3.1 has it so


def _structs(types: list[Any]) -> Iterator[type[Any]]:
    waiting: list[Any] = list(multi_type_info(types))
    seen: set[int] = set()
    while waiting:
        info = waiting.pop()
        if id(info) in seen or isinstance(info, type):
            continue
        seen.add(id(info))
        if isinstance(info, msgspec.inspect.StructType):
            yield get_origin(info.cls) or info.cls
            waiting += [field.type for field in info.fields]
        else:
            for name in getattr(info, "__struct_fields__", ()):
                part = getattr(info, name)
                waiting += part if isinstance(part, tuple) else [part]


def _types_of(operation: Operation) -> Iterator[Any]:
    yield from (parameter.type for parameter in operation.parameters)
    yield from (answer.type for answer in operation.answers.values() if answer.type is not None)
    if operation.body is not None:
        yield operation.body


def _described(operation: Operation, types: _Types) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
        **({"description": operation.description} if operation.description else {}),
        "security": _SECURITY[operation.caller],
    }
    if operation.parameters:
        described["parameters"] = [_parameter(parameter, types) for parameter in operation.parameters]
    if operation.body is not None:
        content = {JSON: {"schema": types[operation.body]}}
        described["requestBody"] = {"required": not operation.body_optional, "content": content}
    answers = {str(status): _answer(answer, types) for status, answer in operation.answers.items()}
    described["responses"] = answers | _refusals(operation)
    return described


def _parameter(parameter: Parameter, types: _Types) -> dict[str, Any]:
    schema = types[parameter.type]
    if parameter.many:
        schema = {"type": "array", "items": schema, "minItems": 1}
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.required,
        "description": parameter.description,
        **({"style": "form", "explode": False} if parameter.many else {}),
        "schema": schema,
    }


def _answer(answer: Answer, types: _Types) -> dict[str, Any]:
    described: dict[str, Any] = {"description": answer.description}
    if answer.headers:
        described["headers"] = {
            name: {"description": text, "schema": {"type": "string"}} for name, text in answer.headers.items()
        }
    if answer.type is not None:
        described["content"] = {answer.media: {"schema": types[answer.type]}}
    return described


def _refusals(operation: Operation) -> dict[str, Any]:
    shape = RestError if operation.path.startswith(_REST) else Error
    content = {JSON: {"schema": {"$ref": _REF.format(name=shape.__name__)}}}
    statuses = sorted({*_USUAL[operation.caller], *operation.errors} - operation.answers.keys())
    return {str(status): {"description": HTTPStatus(status).phrase, "content": content} for status in statuses}
