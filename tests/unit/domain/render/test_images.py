"""Nothing outside the image folder is ever named, however it is written; what is inside is found."""

import posixpath
from pathlib import PurePosixPath, PureWindowsPath

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from drover.domain.render.images import IMAGE_SUFFIXES, image_path

WINDOWS, POSIX, SHARE = "D:/assets", "/mnt/assets", r"\\NAS\broadcast\assets"
FOLDERS = [WINDOWS, POSIX, SHARE]
ANY = settings(max_examples=150, deadline=None)


@pytest.mark.req("RN-06")
@pytest.mark.parametrize(
    ("images", "named", "path"),
    [
        (WINDOWS, "United States", "D:/assets/flags/United States.png"),
        (POSIX, "United States", "/mnt/assets/flags/United States.png"),
        (SHARE, "United States", r"\\NAS\broadcast\assets\flags\United States.png"),
        ("D:\\assets\\", "KR", "D:/assets/flags/KR.png"),
        ("d:/assets", "KR", "D:/assets/flags/KR.png"),
        ("D:/", "KR", "D:/flags/KR.png"),
        ("/", "KR", "/flags/KR.png"),
        ("/mnt//assets/./", "KR", "/mnt/assets/flags/KR.png"),
        (WINDOWS, "  Korea, Rep. of ", "D:/assets/flags/Korea, Rep. of.png"),
        (WINDOWS, "U.S.A.", "D:/assets/flags/U.S.A..png"),
        (WINDOWS, "Côte d'Ivoire", "D:/assets/flags/Côte d'Ivoire.png"),
        (WINDOWS, "대한민국", "D:/assets/flags/대한민국.png"),
        (WINDOWS, "KR.png", "D:/assets/KR.png"),
        (WINDOWS, "flags/KR.png", "D:/assets/flags/KR.png"),
        (WINDOWS, "flags\\KR.png", "D:/assets/flags/KR.png"),
        (POSIX, "flags\\KR.png", "/mnt/assets/flags/KR.png"),
        (WINDOWS, "./flags//./KR.JPG", "D:/assets/flags/KR.JPG"),
        (WINDOWS, "D:/assets/flags/KR.png", "D:/assets/flags/KR.png"),
        (WINDOWS, "d:\\ASSETS\\flags\\KR.png", "D:/assets/flags/KR.png"),
        (WINDOWS, "file://D:/assets/flags/KR.png", "D:/assets/flags/KR.png"),
        (WINDOWS, "file:///D:/assets/flags/KR.png", "D:/assets/flags/KR.png"),
        (WINDOWS, "FILE:///d:\\assets\\flags\\KR.png", "D:/assets/flags/KR.png"),
        (POSIX, "/mnt/assets/a/b/c.svg", "/mnt/assets/a/b/c.svg"),
        (POSIX, "file:///mnt/assets/c.svg", "/mnt/assets/c.svg"),
        (SHARE, r"\\nas\Broadcast\assets\c.psd", r"\\NAS\broadcast\assets\c.psd"),
        (SHARE, "//NAS/broadcast/assets/c.psd", r"\\NAS\broadcast\assets\c.psd"),
        (SHARE, "file://NAS/broadcast/assets/c.psd", r"\\NAS\broadcast\assets\c.psd"),
    ],
)
def test_what_is_in_the_folder_is_found(images, named, path):
    assert image_path(named, images) == path


OUTSIDE = [
    # up
    "..",
    "../x.png",
    "..\\x.png",
    "flags/../../x.png",
    "flags\\..\\..\\x.png",
    "flags/..\\../x.png",
    "D:/assets/../x.png",
    "D:\\assets\\..\\x.png",
    "/mnt/assets/../x.png",
    "/mnt/assets\\..\\x.png",
    r"\\NAS\broadcast\assets\..\x.png",
    "file://D:/assets/../x.png",
    "file://../x.png",
    "file:///../x.png",
    # up, as Windows reads it
    ".. /x.png",
    "flags/.. /.. /x.png",
    "flags/..../x.png",
    "flags/. . /x.png",
    "flags /x.png",
    # rooted, without a drive
    "/x.png",
    "\\x.png",
    "/Windows/x.png",
    "\\Windows\\x.png",
    "file:///Windows/x.png",
    "/assets/x.png",
    # drives
    "C:/x.png",
    "C:\\Windows\\x.png",
    "C:x.png",
    "D:x.png",
    "D:assets/x.png",
    "D:",
    "D:/x.png",
    "file://C:/x.png",
    "file:///C:/x.png",
    "file:///D:x.png",
    "flags/C:/x.png",
    "/D:/assets/x.png",
    # neighbours whose name begins alike
    "D:/assets2/x.png",
    "D:/assets.png",
    "/mnt/assets2/x.png",
    "/mnt/Assets/x.png",
    "/mnt/assets.png",
    r"\\NAS\broadcast\assets2\x.png",
    r"\\NAS2\broadcast\assets\x.png",
    # shares and devices
    r"\\evil\share\x.png",
    "//evil/share/x.png",
    "\\/evil/share/x.png",
    r"\\?\D:\assets\x.png",
    r"\\.\D:\assets\x.png",
    "file://evil/share/x.png",
    "file:////evil/share/x.png",
    "CON.png",
    "flags/nul.png",
    "flags/COM1.tar.png",
    "aux .png",
    "con",
    "lpt9/x.png",
    # other readings on the way
    "http://evil/x.png",
    "https://evil/x.png",
    "ftp://evil/x.png",
    "data:image/png;base64,x.png",
    "javascript:x.png",
    "%2e%2e/x.png",
    "..%2fx.png",
    "$HOME/x.png",
    "%TEMP%\\x.png",
    "a.txt:b.png",
    "a.txt#.png",
    "a.txt?.png",
    "a|b.png",
    "*.png",
    # not pictures, not texts
    "",
    "   ",
    ".",
    "./",
    "/",
    "file://",
    "x.txt/y",
    "flags/KR",
    "flags/KR.exe",
    "flags/.png",
    "flags/KR.png ./",
    "KR\x00.png",
    "KR\n.png",
    "a\x7f.png",
    "\ud800.png",
]


@pytest.mark.req("RN-06")
@pytest.mark.parametrize("images", FOLDERS)
@pytest.mark.parametrize("named", OUTSIDE)
def test_what_is_not_is_not(images, named):
    assert image_path(named, images) is None


@pytest.mark.parametrize("images", ["", "assets", "./assets", "D:assets", "D:", "  "])
def test_without_a_folder_there_are_no_images(images):
    for named in ("KR", "KR.png", "D:/assets/KR.png", "/KR.png", "../KR.png"):
        assert image_path(named, images) is None


def is_inside(path: str, images: str) -> bool:
    """As the machines would read it, by other means than the code under test."""
    if images == POSIX:
        plain = posixpath.normpath(path.replace("\\", "/"))
        return plain.startswith(POSIX + "/") and ".." not in PurePosixPath(path).parts
    there, folder = PureWindowsPath(path), PureWindowsPath(images)
    parts = there.relative_to(folder).parts if there.is_relative_to(folder) else ()
    return (
        there.drive.casefold() == folder.drive.casefold()
        and bool(parts)
        and all(part == part.rstrip(". ") and ":" not in part for part in parts)
        and not there.is_reserved()
    )


PLACES = ["..", ".", "/", "\\", "//", "\\\\", "C:", "D:", "d:/assets", "/mnt/assets", "NAS\\broadcast\\assets", "flags"]
ODDITIES = [
    "file://",
    "FILE:///",
    " ",
    ". ",
    "%2e",
    "$X",
    "con",
    "nul",
    "KR",
    ".png",
    ".PNG",
    ".txt",
    ":",
    "\x00",
    "가",
]
PIECES = st.sampled_from(PLACES + ODDITIES)
NASTY = st.lists(PIECES, max_size=8).map("".join)


@pytest.mark.req("RN-06")
@ANY
@given(named=NASTY | st.text(max_size=40) | NASTY.map(lambda text: text + ".png"), images=st.sampled_from(FOLDERS))
@example(named="/Windows/win.png", images=WINDOWS)
@example(named="file:///D:/../x.png", images=WINDOWS)
@example(named="flags\\..\\..\\x.png", images=POSIX)
def test_whatever_is_named_is_inside_or_nothing(named, images):
    found = image_path(named, images)
    if found is None:
        return
    assert is_inside(found, images), found
    assert any(found.lower().endswith(suffix) for suffix in IMAGE_SUFFIXES)
    assert not any(character in found for character in '\x00\n%$#?*|<>"')
    assert image_path(found, images) == found  # and it is the name of itself


SAFE = st.text("abcXYZ 가나다'-_,()", min_size=1, max_size=12).filter(lambda text: text == text.strip())


@pytest.mark.req("RN-06")
@ANY
@given(
    parts=st.lists(SAFE, min_size=1, max_size=4),
    suffix=st.sampled_from(sorted(IMAGE_SUFFIXES)),
    separator=st.sampled_from("/\\"),
    images=st.sampled_from(FOLDERS),
)
def test_every_plain_picture_in_the_folder_can_be_named(parts, suffix, separator, images):
    if any(part.lower() in ("con", "aux", "nul", "prn") for part in parts):
        return
    named = separator.join(parts) + suffix
    found = image_path(named, images)
    assert found is not None
    assert found.replace("\\", "/").endswith("/".join(parts) + suffix)
    assert image_path(images.rstrip("/\\") + separator + named, images) == found
