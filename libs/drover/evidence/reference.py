"""Names of pictures. The reference that a report carries is the path at which the picture can be read."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from hashlib import sha256
from typing import Final, NamedTuple, Self

from drover.evidence.pictures import PictureType

PATH: Final = "/api/evidence/{day}/{device_id}/{file}"
_DIGEST_CHARS: Final = 16
_UUID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_NAME: Final = re.compile(
    rf"(\d{{4}}-\d\d-\d\d)/({_UUID})/({_UUID})\.(\d{{1,10}})\.([0-9a-f]{{{_DIGEST_CHARS}}})\.(png|jpg|webp)"
)


class Reference(NamedTuple):
    """Names one picture: when it came, from which device, and of which run it is."""

    day: date
    device_id: str
    assignment_id: str
    run: int
    digest: str
    """The beginning of the hash of its content, so that the same picture of a run has the same name."""
    type: PictureType

    @classmethod
    def of(cls, data: bytes, type_: PictureType, *, day: date, device_id: str, assignment_id: str, run: int) -> Self:
        return cls(day, device_id, assignment_id, run, sha256(data).hexdigest()[:_DIGEST_CHARS], type_)

    @classmethod
    def parse(cls, day: str, device_id: str, file: str) -> Self | None:
        """Read the parts of a path. None: no picture has such a name."""
        found = _NAME.fullmatch(f"{day}/{device_id}/{file}")
        if found is None:
            return None
        try:
            came = date.fromisoformat(found[1])
        except ValueError:
            return None
        return cls(came, found[2], found[3], int(found[4]), found[5], PictureType(found[6]))

    @property
    def folder(self) -> str:
        return folder_of(self.day, self.device_id)

    @property
    def file(self) -> str:
        return f"{self.assignment_id}.{self.run}.{self.digest}.{self.type}"

    @property
    def name(self) -> str:
        """Its name in the store."""
        return f"{self.folder}/{self.file}"

    @property
    def path(self) -> str:
        """The path at which it can be read: the text that a report carries."""
        return PATH.format(day=self.day, device_id=self.device_id, file=self.file)

    def expires_at(self, keep_days: int) -> datetime:
        """Return when it may be deleted: a day is deleted as a whole, after its end."""
        return datetime.combine(self.day, time(), UTC) + timedelta(days=keep_days + 1)


def folder_of(day: date, device_id: str) -> str:
    """Return the folder with the pictures of a device of one day."""
    return f"{day}/{device_id}"


def day_of(folder: str) -> date | None:
    """Return the day of a folder of the store. None: it is not one of ours."""
    try:
        day = date.fromisoformat(folder)
    except ValueError:
        return None
    return day if str(day) == folder else None
