"""Structured logs: JSON or console, trace ids added, secrets taken out, the standard library's loggers routed in."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, Final, TextIO

import structlog

from drover.service.tracing import current_id

_SECRET_KEY: Final = re.compile(r"token|secret|passw|authorization|api_?key|credential|cookie", re.IGNORECASE)
_CREDENTIALS_IN_URL: Final = re.compile(r"(?<=://)[^@/\s]+(?=@)|(?<=[?&]password=)[^&\s]+")
_JWT: Final = re.compile(r"\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*")
_HIDDEN: Final = "•••"
_DEPTH_MAX: Final = 6


def configure(log_format: str, level: str, *, stream: TextIO | None = None) -> None:
    """Set up logging of the whole process. Logs go to stderr: stdout belongs to what a command prints."""
    stream = stream or sys.stderr
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        add_trace,
    ]
    render: list[structlog.types.Processor] = (
        [
            structlog.processors.format_exc_info,
            hide_secrets,
            structlog.processors.JSONRenderer(ensure_ascii=False, default=str),
        ]
        if log_format == "json"
        # Tracebacks as plain text, and before secrets are hidden: rich ones would show the values of local variables.
        else [
            structlog.processors.format_exc_info,
            hide_secrets,
            structlog.dev.ConsoleRenderer(colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback),
        ]
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *render],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    # aiohttp writes a traceback for every malformed request line, which anybody can send.
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)


def add_trace(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    trace_id = current_id()
    if trace_id is not None:
        event.setdefault("trace_id", trace_id)
    return event


def hide_secrets(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """By name of the key wherever it stands, and by shape: a JWT or a password in an address also inside texts."""
    return {key: _hidden(key, value, 0) for key, value in event.items()}


def _hidden(key: object, value: Any, depth: int) -> Any:
    # Numbers under such a key (`token_count`) are no secrets.
    if isinstance(key, str) and isinstance(value, str | bytes | list | tuple) and _SECRET_KEY.search(key):
        return _HIDDEN
    if isinstance(value, str):
        return _JWT.sub(_HIDDEN, _CREDENTIALS_IN_URL.sub(_HIDDEN, value))
    if depth >= _DEPTH_MAX:
        return "…" if isinstance(value, Mapping | list | tuple) else value
    if isinstance(value, Mapping):
        return {inner: _hidden(inner, item, depth + 1) for inner, item in value.items()}
    if isinstance(value, list | tuple):
        return [_hidden(None, item, depth + 1) for item in value]
    return value
