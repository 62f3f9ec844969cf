"""The reason in an exception, as a person reads it."""

import socket
import ssl

import nats.errors
import nats.js.errors
import pytest

from drover.service.reasons import reason_of


class PeerGoneError(Exception):
    """Says nothing."""


def untrusted():
    error = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed (_ssl.c:1006)")
    error.verify_message = "unable to get local issuer certificate"
    return error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (untrusted(), "the certificate is not trusted: unable to get local issuer certificate"),
        (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)"), "TLS failed"),
        (ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 1)"), "Connection refused"),
        (OSError("Multiple exceptions: [Errno 111] Connect call failed ('::1', 1, 0, 0), [Errno 113] x"), "refused"),
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
        (ConnectionError(), "no connection"),
        (TimeoutError(), "no answer in time"),
        (nats.errors.TimeoutError(), "no answer in time"),
        (nats.errors.NoServersError(), "no servers available for connection"),
        (nats.errors.Error("nats: 'Authorization Violation'"), "Authorization Violation"),
        (nats.js.errors.NotFoundError(code=404, description="stream not found"), "stream not found"),
        (ValueError("Port could not be cast."), "Port could not be cast"),
        (PeerGoneError(), "peer gone"),
    ],
)
def test_a_reason_has_words_and_no_class(error, reason):
    found = reason_of(error)
    assert reason in found
    assert type(error).__name__ not in found
    assert "Errno" not in found
    assert "nats:" not in found
