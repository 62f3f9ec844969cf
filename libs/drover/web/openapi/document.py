"""From operations to the document: paths, parameters, refusals. The schemas of their types are made in `schemas`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import msgspec

from drover.web.openapi.operation import JSON, Answer, Operation, Parameter
from drover.web.openapi.schemas import REF, Schemas

OPENAPI: Final = "3.1.0"
_PLAIN: Final = ("/api/", "/auth/")
_USUAL: Final[Mapping[str, tuple[int, ...]]] = {"token": (401, 403), "cron secret": (401,), "anybody": ()}
_SECURITY: Final[Mapping[str, list[dict[str, list[str]]]]] = {
    "token": [{"bearer": []}, {"apikey": []}],
    "cron secret": [{"cron": []}, {"bearer": []}],
    "anybody": [],
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
    """A refusal anywhere else, as PostgREST has it."""

    code: str
    message: str
    details: Any
    hint: str | None


def document(operations: Sequence[Operation], *, title: str, version: str, description: str) -> dict[str, Any]:
    return _Document(operations).made({"title": title, "version": version, "description": description})


class _Document:
    """What stands in several operations is said once, in `components`."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._operations = sorted(operations, key=lambda operation: operation.path)
        self._schemas = Schemas([Error, RestError, *(type_ for one in operations for type_ in one.types)])
        self._shared = self._name_shared()
        self._responses: dict[str, Any] = {}

    def made(self, info: dict[str, str]) -> dict[str, Any]:
        paths: dict[str, dict[str, Any]] = {}
        for operation in self._operations:
            paths.setdefault(operation.path, {})[operation.method.lower()] = self._operation(operation)
        return {
            "openapi": OPENAPI,
            "info": info,
            "tags": [{"name": tag} for tag in sorted({operation.tag for operation in self._operations})],
            "paths": paths,
            "components": {
                "schemas": self._schemas.components,
                "parameters": {name: self._parameter(one) for one, name in sorted(self._shared.items(), key=_second)},
                "responses": dict(sorted(self._responses.items())),
                "securitySchemes": _SCHEMES,
            },
        }

    def _name_shared(self) -> dict[Parameter, str]:
        uses = Counter(parameter for operation in self._operations for parameter in set(operation.parameters))
        names: dict[Parameter, str] = {}
        for operation in self._operations:
            for parameter in operation.parameters:
                if uses[parameter] > 1 and parameter not in names:
                    taken = parameter.name in names.values()
                    names[parameter] = f"{operation.tag}_{parameter.name}" if taken else parameter.name
        assert len(set(names.values())) == len(names), "two parameters would have one name"
        return names

    def _operation(self, operation: Operation) -> dict[str, Any]:
        described: dict[str, Any] = {
            "operationId": operation.id,
            "tags": [operation.tag],
            "summary": operation.summary,
            **({"description": operation.description} if operation.description else {}),
            "security": _SECURITY[operation.caller],
        }
        if operation.parameters:
            described["parameters"] = [self._named(parameter) for parameter in operation.parameters]
        if operation.body is not None:
            content = {JSON: {"schema": self._schemas[operation.body]}}
            described["requestBody"] = {"required": not operation.body_optional, "content": content}
        answers = {str(status): self._answer(answer) for status, answer in operation.answers.items()}
        described["responses"] = answers | self._refusals(operation)
        return described

    def _named(self, parameter: Parameter) -> dict[str, Any]:
        name = self._shared.get(parameter)
        return self._parameter(parameter) if name is None else {"$ref": f"#/components/parameters/{name}"}

    def _parameter(self, parameter: Parameter) -> dict[str, Any]:
        schema = self._schemas[parameter.type]
        if parameter.many:
            schema = {"type": "array", "items": schema, "minItems": 1}
            if parameter.many_max is not None:
                schema["maxItems"] = parameter.many_max
        return {
            "name": parameter.name,
            "in": parameter.place,
            "required": parameter.required,
            "description": parameter.description,
            **({"style": "form", "explode": False} if parameter.many else {}),
            "schema": schema,
        }

    def _answer(self, answer: Answer) -> dict[str, Any]:
        described: dict[str, Any] = {"description": answer.description}
        if answer.headers:
            described["headers"] = {
                name: {"description": text, "schema": {"type": "string"}} for name, text in answer.headers.items()
            }
        if answer.type is not None:
            described["content"] = {answer.media: {"schema": self._schemas[answer.type]}}
        return described

    def _refusals(self, operation: Operation) -> dict[str, Any]:
        shape = Error if operation.path.startswith(_PLAIN) else RestError
        refusals = {}
        for status in sorted({*_USUAL[operation.caller], *operation.errors} - operation.answers.keys()):
            name = f"{shape.__name__}{status}"
            refusals[str(status)] = {"$ref": f"#/components/responses/{name}"}
            self._responses[name] = {
                "description": HTTPStatus(status).phrase,
                "content": {JSON: {"schema": {"$ref": REF.format(name=shape.__name__)}}},
            }
        return refusals


def _second(pair: tuple[Any, str]) -> str:
    return pair[1]
