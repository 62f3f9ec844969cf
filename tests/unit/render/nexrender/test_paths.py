"""Paths and the URLs that nexrender is told them by."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.render.nexrender.paths import PathUnusable, comparable, file_url, suffix_of

RESERVED = {f"%{ord(char):02X}" for char in ";/?:@&=+$,#"}


def decode_uri(text: str) -> str:
    """JavaScript's: the escapes of what is reserved stay."""
    kept = re.sub(r"%[0-9A-F]{2}", lambda part: f"%25{part[0][1:]}" if part[0] in RESERVED else part[0], text)
    return unquote(kept)


def nexrender_reads(url: str, separator: str) -> str:
    """`file-uri-to-path`, as nexrender uses it. The real one has its say in the integration tests."""
    rest = decode_uri(url.removeprefix("file://"))
    host, _, path = rest.partition("/")
    path = re.sub(r"^(.+)\|", r"\1:", path, flags=re.DOTALL)
    if separator == "\\":
        path = path.replace("/", "\\")
    if not re.match(r".+:", path):
        path = separator + path
    return (separator * 2 + host if host else "") + path


NAMES = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters=r'\/|:<>"?*'), min_size=1, max_size=20
)


@pytest.mark.req("RN-07")
@pytest.mark.parametrize(
    ("path", "url"),
    [
        (r"D:\templates\cyprusdesign.aep", "file:///D:/templates/cyprusdesign.aep"),
        ("D:/assets/flags/United States.png", "file:///D:/assets/flags/United%20States.png"),
        ("file://D:/assets/flags/United States.png", "file:///D:/assets/flags/United%20States.png"),
        (r"\\NAS\broadcast\design one.aep", "file://NAS/broadcast/design%20one.aep"),
        ("/mnt/nas/design #1 50%.aep", "file:///mnt/nas/design%20#1%2050%25.aep"),
        ("D:/템플릿.aep", "file:///D:/%ED%85%9C%ED%94%8C%EB%A6%BF.aep"),
        ("file:///D:/already%20one.aep", "file:///D:/already%20one.aep"),
        ("https://cdn.example/flag.png", "https://cdn.example/flag.png"),
    ],
)
def test_a_path_becomes_the_url_that_nexrender_can_read(path, url):
    assert file_url(path) == url


@given(st.lists(NAMES, min_size=1, max_size=4))
def test_what_nexrender_reads_is_the_path_that_was_meant(names):
    windows = "D:\\" + "\\".join(names)
    assert nexrender_reads(file_url(windows), "\\") == windows
    posix = "/" + "/".join(names)
    assert nexrender_reads(file_url(posix), "/") == posix
    share = "\\\\NAS\\" + "\\".join(names)
    assert nexrender_reads(file_url(share), "\\") == share


@pytest.mark.parametrize(
    "path",
    [
        "relative/x.aep",
        "x.aep",
        "",
        "D:x.aep",
        "/a:b.aep",
        "/a|b.aep",
        "D:/a|b.aep",
        "/a\nb.aep",
        "/a\0b",
        "/\udc80.aep",
    ],
)
def test_a_path_that_nexrender_would_misread_is_refused(path):
    with pytest.raises(PathUnusable) as refused:
        file_url(path)
    assert refused.value.path == path


@pytest.mark.parametrize(
    ("path", "suffix"),
    [("a/b.aep", ".aep"), ("b.PNG", ".PNG"), ("b", ""), ("b.", ""), ("b.tar.gz", ".gz"), ("a.b/c", ""), ("a.$(x)", "")],
)
def test_the_suffix_of_a_path_is_plain_or_none(path, suffix):
    assert suffix_of(path) == suffix


def test_two_spellings_of_a_path_are_the_same():
    for other in ("d:/Templates/x y.aep", r"D:\\templates\X Y.aep", "file:///D:/templates/x%20y.aep"):
        assert comparable(other) == comparable(r"D:\templates\x y.aep")
    assert comparable(r"\\NAS\share\x.aep") == comparable("file://NAS/share/x.aep")
    assert comparable("/a/x.aep") == comparable("file:///a/x.aep")
    assert comparable("/a/x.aep") != comparable("/b/x.aep")
