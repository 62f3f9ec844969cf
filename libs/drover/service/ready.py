"""`drover-ready`: the health check of a container. It needs no curl and no settings.

It imports nothing of Drover: it runs every few seconds in every container, and importing Drover takes a second.
"""

from __future__ import annotations

import http.client
import os
import ssl
import sys
from typing import Final

PATH: Final = "/readyz"
PORT_DEFAULT: Final = 8080
TIMEOUT_S: Final = 4.0
BODY_BYTES_MAX: Final = 4096


def main() -> None:
    tls = bool(os.environ.get("DROVER_TLS_CERT"))
    sys.exit(ask(int(os.environ.get("DROVER_HTTP_PORT") or PORT_DEFAULT), tls=tls))


def ask(port: int, host: str = "127.0.0.1", *, tls: bool = False) -> int:
    """Ask the process whether it is ready, and return the exit code: 0 if it is. Otherwise print the reason, which
    `docker inspect` shows. `tls`: whether the process serves HTTPS."""
    connection = _https(host, port) if tls else http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    try:
        connection.request("GET", PATH)
        answer = connection.getresponse()
        body = answer.read(BODY_BYTES_MAX).decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        answer, body = None, repr(error)
    finally:
        connection.close()
    if answer is not None and answer.status == 200:
        return 0
    sys.stdout.write(body + "\n")
    return 1


def _https(host: str, port: int) -> http.client.HTTPSConnection:
    # The certificate is for the name that others use, not for loopback, and we send nothing secret.
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return http.client.HTTPSConnection(host, port, timeout=TIMEOUT_S, context=context)


if __name__ == "__main__":
    main()
