"""Which store an address means, and which addresses mean none."""

from pathlib import PurePosixPath

import pytest

from drover.nas.mounted import MountedStore
from drover.nas.opening import NasAddressInvalid, open_store
from drover.nas.smb import SmbStore

FILE = PurePosixPath("day/a.mp4")


@pytest.mark.req("RN-11")
@pytest.mark.parametrize(
    ("url", "kind", "location"),
    [
        ("/mnt/nas", MountedStore, "/mnt/nas/day/a.mp4"),
        ("smb://nas/broadcast", SmbStore, r"\\nas\broadcast\day\a.mp4"),
        (
            "smb://nas.office.example:1445/broadcast/output/",
            SmbStore,
            r"\\nas.office.example\broadcast\output\day\a.mp4",
        ),
        ("smb://nas/broadcast/%EC%9E%90%EB%A7%89%20a", SmbStore, r"\\nas\broadcast\자막 a\day\a.mp4"),
    ],
)
def test_an_address_is_a_path_or_a_folder_of_a_share(url, kind, location):
    store = open_store(url)
    assert isinstance(store, kind)
    assert store.location(FILE) == location


@pytest.mark.parametrize(
    "url",
    ["", "nas/output", "smb:", "smb://", "smb://nas", "smb://nas/", "smb:///share", "smb://nas:port/share",
     "smb://nas/share/../other", "smb://nas/share/a%5Cb", "smb://nas/share?x=1", "ftp://nas/share", r"\\nas\share"],
)  # fmt: skip
def test_any_other_address_is_refused_with_the_forms_that_there_are(url):
    with pytest.raises(NasAddressInvalid, match="Write a path"):
        open_store(url)


def test_an_address_carries_no_account_and_a_refusal_does_not_repeat_it():
    with pytest.raises(NasAddressInvalid) as refused:
        open_store("smb://render:geheim@nas/share")
    assert "geheim" not in str(refused.value) and "geheim" not in refused.value.address
