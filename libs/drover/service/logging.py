"""Structured logs of the process and of the standard library's loggers: as JSON or for the console, with trace ids,
without secrets."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, Final, TextIO

import structlog

from drover.service.log_file import LogFile
from drover.service.tracing import current_id

_SECRET_KEY: Final = re.compile(r"token|secret|passw|authorization|api_?key|credential|cookie", re.IGNORECASE)
_CREDENTIALS_IN_URL: Final = re.compile(r"(?<=://)[^@/\s]+(?=@)|(?<=[?&]password=)[^&\s]+")
_JWT: Final = re.compile(r"\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*")
_REFRESH_TOKEN: Final = re.compile(r"\bdrt1\.[\w.-]+")
_EMAIL: Final = re.compile(r"[\w.+%-]+@[\w-]+(?:\.[\w-]+)+")
HIDDEN: Final = "•••"
NAMESPACES: Final = ("alarm",)
"""Names of loggers that can be switched to log everything (`DEBUG=alarm`)."""
_DEPTH_MAX: Final = 6

json_stream: TextIO | None = None
"""The stream of the logs if they are JSON; None if they are lines for people. `web.access_log` uses it, because it
makes its own JSON."""
access_file: LogFile | None = None
"""The file for the access log. None: it goes where the other logs go. `drover up` sets it, to keep its terminal free
for people."""


def configure(log_format: str, level: str, *, stream: TextIO | None = None, debug: str | None = None) -> None:
    """Set up logging for the whole process. Logs go to stderr, because stdout belongs to the output of commands.

    `debug`: namespaces that log everything at any level, as in `DEBUG=alarm` of document 004 (reminders). None: the
    environment variable DEBUG decides.
    """
    global json_stream
    stream = stream or sys.stderr
    json_stream = stream if log_format == "json" else None
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
        # Tracebacks as plain text, before secrets are hidden: rich ones would show the values of local variables.
        else [
            structlog.processors.format_exc_info,
            hide_secrets,
            WorkLines(
                plain_line
                if log_format == "plain"
                else structlog.dev.ConsoleRenderer(
                    colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback
                )
            ),
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
    for name in NAMESPACES:
        wanted = _names(os.environ.get("DEBUG", "") if debug is None else debug)
        logging.getLogger(name).setLevel(logging.DEBUG if wanted & {name, "*"} else logging.NOTSET)
    # aiohttp logs a traceback for every malformed request line, which anybody can send.
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)


def is_logged(name: str) -> bool:
    """Whether lines of this logger with the level info are written."""
    return logging.getLogger(name).isEnabledFor(logging.INFO)


def _names(text: str) -> set[str]:
    """Split the value of DEBUG into names, at commas and spaces, as the JavaScript library `debug` does."""
    return set(re.split(r"[\s,]+", text))


class WorkLines:
    """Formats log lines about a worker and its job as `[time] LEVEL | Worker#1 | Job#7 | what (details)`, the format of
    document 003 (the render queue), §7.3.

    A line about the queue itself has the fields `part` and `about` in place of worker and job, such as "Scheduler" and
    "Recovery". If the line has a field `text`, this is shown in place of the event's name and fields. `others` formats
    all other lines.
    """

    def __init__(self, others: structlog.types.Processor) -> None:
        self._others = others

    def __call__(self, logger: Any, method: str, event: MutableMapping[str, Any]) -> Any:
        if "worker" not in event and "part" not in event:
            return self._others(logger, method, event)
        fields = dict(event)
        time = str(fields.pop("timestamp", ""))[:23].replace("T", " ")
        level = _LEVELS.get(str(fields.pop("level", "")), "INFO")
        who, about = _who_and_about(fields)
        text = str(fields.pop("event", "")).replace("_", " ")
        trace = fields.pop("exception", None)
        for name in ("logger", "trace_id", "run"):
            fields.pop(name, None)
        if (change := fields.pop("change", None)) is not None:
            text = f"{text}: {change}"
        details = ", ".join(
            f"{name}: {value}{'%' if name == 'progress' else ''}" for name, value in fields.items() if value is not None
        )
        if "text" in fields:
            text, details = fields["text"], ""
        line = f"[{time}] {level:<5} | {who} | {about} | {text}"
        return line + (f" ({details})" if details else "") + (f"\n{trace}" if trace else "")


def _who_and_about(fields: dict[str, Any]) -> tuple[str, str]:
    if "part" in fields:
        return fields.pop("part"), fields.pop("about", "-")
    worker, job = fields.pop("worker"), fields.pop("job", None)
    return f"Worker#{worker}", "-" if job is None else f"Job#{job}"


def plain_line(logger: Any, method: str, event: MutableMapping[str, Any]) -> str:
    """Format a line as `[LEVEL] time name: what`, the format of document 001 (saju tests), §4.1.

    If an event begins with its logger's name, it is a whole sentence, as in that document. Its fields only repeat the
    sentence, so they are left out.
    """
    fields = dict(event)
    time = str(fields.pop("timestamp", ""))[:19] + "Z"
    level = _LEVELS.get(str(fields.pop("level", "")), "INFO")
    name, text = fields.pop("logger", None) or "drover", str(fields.pop("event", ""))
    trace = fields.pop("exception", None)
    if not text.startswith(f"{name}: "):
        details = [f"{key}={value!r}" for key, value in fields.items()]
        text = " ".join([f"{name}: {text}", *details])
    return f"[{level}] {time} {text}" + (f"\n{trace}" if trace else "")


_LEVELS: Final = {"debug": "DEBUG", "info": "INFO", "warning": "WARN", "error": "ERROR", "critical": "ERROR"}


def add_trace(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    trace_id = current_id()
    if trace_id is not None:
        event.setdefault("trace_id", trace_id)
    return event


def hide_secrets(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Hide secrets in a log line: values whose key names a secret, at any depth, and tokens, e-mail addresses and
    passwords of URLs in any text."""
    return {key: _hidden(key, value, 0) for key, value in event.items()}


def hidden_in(text: str) -> str:
    """Hide secrets that are recognized by their shape: tokens, e-mail addresses, passwords in URLs."""
    for shape in (_CREDENTIALS_IN_URL, _JWT, _REFRESH_TOKEN, _EMAIL):
        text = shape.sub(HIDDEN, text)
    return text


def _hidden(key: object, value: Any, depth: int) -> Any:
    # Numbers under such a key (`token_count`) are not secrets.
    if isinstance(key, str) and isinstance(value, str | bytes | list | tuple) and _SECRET_KEY.search(key):
        return HIDDEN
    if isinstance(value, str):
        return hidden_in(value)
    if depth >= _DEPTH_MAX:
        return "…" if isinstance(value, Mapping | list | tuple) else value
    if isinstance(value, Mapping):
        return {inner: _hidden(inner, item, depth + 1) for inner, item in value.items()}
    if isinstance(value, list | tuple):
        return [_hidden(None, item, depth + 1) for item in value]
    return value
