"""Reports errors to Sentry if `DROVER_SENTRY_DSN` is set. Needs the extra `drover[sentry]`.

It sends only the log line of the error, which has no secrets: no requests, no variables, no users.
"""

from __future__ import annotations

import logging
from importlib.metadata import version
from typing import Any

from drover.domain.errors import DroverError


class SentryMissing(DroverError):
    """`DROVER_SENTRY_DSN` is set, but its library is not installed."""

    def __init__(self) -> None:
        super().__init__("DROVER_SENTRY_DSN needs the extra: pip install 'drover[sentry]'. Or unset it")


def report_errors(dsn: str | None, instance: str, *, transport: Any = None) -> bool:
    """Report to Sentry every error that is logged from now on. Call it after `logging.configure`. Returns False if no
    DSN is set, so that nothing is reported."""
    if dsn is None:
        return False
    try:
        import sentry_sdk
    except ImportError as error:
        raise SentryMissing from error
    sentry_sdk.init(
        dsn,
        release=f"drover@{version('drover')}",
        server_name=instance,
        include_local_variables=False,
        max_breadcrumbs=0,
        default_integrations=False,
        traces_sample_rate=0,
        transport=transport,
    )
    root = logging.getLogger()
    handler = _ToSentry(sentry_sdk.capture_event)
    handler.setFormatter(root.handlers[0].formatter)
    root.addHandler(handler)
    return True


class _ToSentry(logging.Handler):
    def __init__(self, capture: Any) -> None:
        super().__init__(logging.ERROR)
        self._capture = capture

    def emit(self, record: logging.LogRecord) -> None:
        event = record.msg.get("event") if isinstance(record.msg, dict) else None
        self._capture(
            {
                "level": "fatal" if record.levelno > logging.ERROR else "error",
                "logger": record.name,
                "logentry": {"formatted": self.format(record)},
                # Group by event and logger: lines of the same problem differ in times and ids.
                "fingerprint": [record.name, str(event or record.msg)],
            }
        )
