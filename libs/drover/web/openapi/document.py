"""Generates the OpenAPI document from routes: paths, parameters, errors. `schemas` makes the schemas of their types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, get_args

import msgspec

from drover.web.openapi.schemas import REF, Schemas
from drover.web.route import JSON, NOT_LIMITED, Answer, Method, Parameter, Route

OPENAPI: Final = "3.1.0"
_METHODS: Final = get_args(Method)
_PLAIN: Final = ("/api/", "/auth/")
_USUAL: Final[Mapping[str, tuple[int, ...]]] = {"token": (401, 403), "cron secret": (401, 403), "anybody": ()}
_SECURITY: Final[Mapping[str, list[dict[str, list[str]]]]] = {
    "token": [{"bearer": []}, {"apikey": []}],
    "cron secret": [{"cron": []}, {"bearer": []}],
    "anybody": [],
}
_SCHEMES: Final = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key, or a person's access token.",
    },
    "apikey": {"type": "apiKey", "in": "header", "name": "apikey", "description": "An API key, as in Supabase."},
    "cron": {"type": "apiKey", "in": "header", "name": "X-Cron-Secret"},
}


class Error(msgspec.Struct, omit_defaults=True):
    """An error under `/api` and `/auth`."""

    error: str
    """A code that does not change, by which programs tell errors apart."""
    message: str
    """A sentence for people."""
    details: Any = None
    """The wrong field and its value, or other facts about the error."""
    hint: str | None = None
    error_code: str | None = None
    """Under `/auth` only, for Supabase's clients."""


class RestError(msgspec.Struct):
    """An error on all paths except `/api` and `/auth`, as in PostgREST."""

    code: str
    message: str
    details: Any
    hint: str | None


def document(routes: Sequence[Route], *, title: str, version: str, description: str) -> dict[str, Any]:
    return _Document(routes).made({"title": title, "version": version, "description": description})


class _Document:
    """Builds the document. Parts that several routes share are put once into `components`."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = sorted(routes, key=lambda route: (route.path, _METHODS.index(route.method)))
        self._schemas = Schemas([Error, RestError, *(type_ for one in routes for type_ in one.types)])
        self._shared = self._name_shared()
        self._responses: dict[str, Any] = {}

    def made(self, info: dict[str, str]) -> dict[str, Any]:
        paths: dict[str, dict[str, Any]] = {}
        for route in self._routes:
            paths.setdefault(route.path, {})[route.method.lower()] = self._route(route)
        return {
            "openapi": OPENAPI,
            "info": info,
            "tags": [{"name": tag} for tag in sorted({route.tag for route in self._routes})],
            "paths": paths,
            "components": {
                "schemas": self._schemas.components,
                "parameters": {name: self._parameter(one) for one, name in sorted(self._shared.items(), key=_second)},
                "responses": dict(sorted(self._responses.items())),
                "securitySchemes": _SCHEMES,
            },
        }

    def _name_shared(self) -> dict[Parameter, str]:
        uses = Counter(parameter for route in self._routes for parameter in set(route.parameters))
        names: dict[Parameter, str] = {}
        for route in self._routes:
            for parameter in route.parameters:
                if uses[parameter] > 1 and parameter not in names:
                    taken = parameter.name in names.values()
                    names[parameter] = f"{route.tag}_{parameter.name}" if taken else parameter.name
        assert len(set(names.values())) == len(names), "two parameters have the same name"
        return names

    def _route(self, route: Route) -> dict[str, Any]:
        described: dict[str, Any] = {
            "operationId": route.id,
            "tags": [route.tag],
            "summary": route.summary,
            **({"description": route.description} if route.description else {}),
            "security": _SECURITY[route.caller],
        }
        if route.parameters:
            described["parameters"] = [self._named(parameter) for parameter in route.parameters]
        if route.body is not None:
            content = {route.body_media: {"schema": self._schemas[route.body]}}
            described["requestBody"] = {"required": not route.body_optional, "content": content}
        answers = {str(status): self._answer(answer) for status, answer in route.answers.items()}
        described["responses"] = answers | self._refusals(route)
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
        if answer.contents:
            described["content"] = {media: {"schema": self._schemas[type_]} for media, type_ in answer.contents.items()}
        return described

    def _refusals(self, route: Route) -> dict[str, Any]:
        shape = Error if route.path.startswith(_PLAIN) else RestError
        refusals = {}
        usual = (*_USUAL[route.caller], *(() if route.limit == NOT_LIMITED else (429,)))
        for status in sorted({*usual, *route.errors} - route.answers.keys()):
            name = f"{shape.__name__}{status}"
            refusals[str(status)] = {"$ref": f"#/components/responses/{name}"}
            self._responses[name] = {
                "description": HTTPStatus(status).phrase,
                "content": {JSON: {"schema": {"$ref": REF.format(name=shape.__name__)}}},
            }
        return refusals


def _second(pair: tuple[Any, str]) -> str:
    return pair[1]
