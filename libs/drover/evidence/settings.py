"""The settings of evidence. The gateway writes pictures, and the api service reads them."""

from __future__ import annotations

from drover.service.config import Section
from drover.service.setting_types import ArchivePlace, Days, PictureCount, Word


class EvidenceSettings(Section, frozen=True, kw_only=True):
    """Pictures that phones send along with a failure."""

    evidence: ArchivePlace | None = None
    """Where the pictures are kept: a folder that every process of `gateway` and `api` can reach, or s3://bucket/prefix.
    Not set: uploads are refused with 501; `drover up` uses the folder `evidence` of its data directory. A bucket has
    the server and the region of DROVER_ARCHIVE_S3_ENDPOINT and DROVER_ARCHIVE_S3_REGION. Use another prefix than the
    archive."""
    evidence_s3_key_id: Word | None = None
    """The id of the access key for that bucket. Not set: DROVER_ARCHIVE_S3_KEY_ID. Needs DROVER_EVIDENCE_S3_SECRET."""
    evidence_s3_secret: Word | None = None
    """The secret of that access key."""
    evidence_keep_days: Days = 30
    """How many days a picture is kept. Older ones are deleted every hour."""
    evidence_per_day: PictureCount = 50
    """How many pictures one device may upload in a day (UTC); further ones are refused with 429."""
