"""What all unit tests share: a loop on which a busy machine makes no test fail."""

from __future__ import annotations

from tests.patient_loop import PatientLoop


def pytest_asyncio_loop_factories() -> dict[str, type[PatientLoop]]:
    return {"patient": PatientLoop}
