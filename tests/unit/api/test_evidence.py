"""Pictures of failures over HTTP: who sees them, that each look is recorded, and that a browser takes them for nothing
but pictures."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from aiohttp.test_utils import TestClient, TestServer

from drover.api.evidence import EvidencePages
from drover.archive.folder_store import FolderStore
from drover.evidence.collection import Evidence
from drover.evidence.pictures import PictureType
from drover.evidence.reference import Reference
from drover.service.api_keys import Role
from drover.service.health import Health
from drover.web.access import Access
from drover.web.application import add_handlers, create_application
from drover.web.audit import Audit
from drover.web.auth import Authenticator
from drover.web.callers import Callers
from drover.web.people import BuiltIn
from drover.web.permissions import Permissions
from tests.unit.api.reads.desk import KEYS, SECRET, key_of
from tests.unit.evidence.pictures import png
from tests.unit.web.test_audit import Log as AuditLog

pytestmark = pytest.mark.req("DF-30")

DEVICE = "00000000-0000-4000-8000-000000000001"
WORK = "00000000-0000-7000-8000-000000000002"
NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


class Gallery:
    client: TestClient

    def __init__(self, folder) -> None:
        self.folder = folder
        self.log = AuditLog()
        self.evidence = Evidence(FolderStore(folder), keep_days=30, per_day=9, clock=lambda: NOW)

    async def add(self) -> str:
        data = png()
        picture = Reference.of(data, PictureType.PNG, day=NOW.date(), device_id=DEVICE, assignment_id=WORK, run=1)
        await self.evidence.add(picture, data)
        return picture.path

    async def get(self, path: str, role: Role = Role.VIEWER):
        return await self.client.get(path, headers=key_of(role))

    async def erase(self, path: str, role: Role = Role.ADMIN):
        return await self.client.post(f"/api/erasures/evidence/{path}", headers=key_of(role))


@pytest.fixture
async def gallery(tmp_path, request):
    gallery = Gallery(tmp_path / "evidence")
    audit = Audit(gallery.log, Callers())
    access = Access(Authenticator([SECRET], people=[BuiltIn(KEYS)]), Permissions(), Callers(), audit=audit)
    app = create_application(Health(), body_bytes_max=1024, audit=audit)
    add_handlers(app, [EvidencePages(getattr(request, "param", gallery.evidence))], access)
    async with TestClient(TestServer(app)) as client:
        gallery.client = client
        yield gallery


@pytest.mark.req("SE-11")
async def test_a_person_sees_the_picture_and_the_look_is_recorded(gallery):
    path = await gallery.add()
    answer = await gallery.get(path)
    assert (answer.status, await answer.read()) == (200, png())
    headers = answer.headers
    assert headers["Content-Type"] == "image/png"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert headers["Cache-Control"] == "no-store"
    ((by, kind, what),) = gallery.log.lines()
    assert (by.partition(":")[0], kind, what) == ("user", "evidence", path)


@pytest.mark.req("SE-11")
async def test_no_picture_is_shown_that_cannot_be_recorded(gallery):
    path = await gallery.add()
    gallery.log.is_away = True
    answer = await gallery.get(path)
    assert (answer.status, (await answer.json())["error"]) == (503, "AUDIT_UNAVAILABLE")


@pytest.mark.parametrize(("role", "status"), [(Role.ANON, 403), (Role.DEVICE, 403), (Role.SERVICE_ROLE, 200)])
async def test_phones_see_no_pictures(gallery, role, status):
    assert (await gallery.get(await gallery.add(), role)).status == status


@pytest.mark.parametrize(
    "path", ["2026-11-18/x/y", f"2026-11-18/{DEVICE}/..%2f..%2fsecret.png", f"..%2f..%2f/{DEVICE}/secret.png"]
)
async def test_no_path_leads_out_of_the_pictures(gallery, path):
    await gallery.add()
    (gallery.folder.parent / "secret.png").write_bytes(png())
    answer = await gallery.get(f"/api/evidence/{path}")
    assert answer.status == 404


async def test_an_admin_erases_the_pictures_of_a_phone(gallery):
    path = await gallery.add()
    assert (await gallery.erase(DEVICE, Role.OPERATOR)).status == 403
    assert (await gallery.erase("someone")).status == 400
    none = await gallery.erase(f"{DEVICE}?assignment_id={DEVICE}")
    assert (none.status, (await none.json())["error"]) == (404, "PICTURE_GONE")
    answer = await gallery.erase(f"{DEVICE}?assignment_id={WORK}")
    assert await answer.json() == {"device_id": DEVICE, "pictures": 1}
    gone = await gallery.get(path)
    assert (gone.status, (await gone.json())["error"]) == (404, "PICTURE_GONE")
    assert any(kind == "change" for _, kind, _ in gallery.log.lines())


@pytest.mark.parametrize("gallery", [None], indirect=True)
async def test_a_process_without_pictures_says_what_to_set(gallery):
    answer = await gallery.get(f"/api/evidence/2026-11-18/{DEVICE}/{WORK}.1.0123456789abcdef.png")
    assert (answer.status, (await answer.json())["error"]) == (501, "EVIDENCE_NOT_CONFIGURED")
    assert "DROVER_EVIDENCE" in (await answer.json())["hint"]


async def test_a_place_that_cannot_be_read_is_503(gallery):
    path = await gallery.add()
    file = gallery.folder / path.removeprefix("/api/evidence/")
    file.unlink()
    file.mkdir()
    answer = await gallery.get(path)
    assert (answer.status, (await answer.json())["error"]) == (503, "EVIDENCE_UNREACHABLE")
