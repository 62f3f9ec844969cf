"""Files that exports make: right for spreadsheets and for programs."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.web.export_formats import BOM, MEDIA, Format, answer, cell, head, headers, piece, tail

pytestmark = pytest.mark.req("EV-05")

FULL_WIDTH = {ord(sign): ord(sign) + 0xFEE0 for sign in "=+-@"}
"""The same signs as Korean, Japanese and Chinese keyboards write them."""


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1"])
@pytest.mark.parametrize("is_wide", [False, True], ids=["ascii", "full width"])
def test_a_text_that_a_spreadsheet_would_calculate_gets_an_apostrophe(text, is_wide):
    text = text.translate(FULL_WIDTH) if is_wide else text
    ((read,),) = csv.reader(io.StringIO(cell(text) + "\r\n", newline=""))
    assert read == f"'{text}"


@pytest.mark.parametrize("number", ["-5", "+1", "-0.25", "17"])
def test_a_number_is_left_as_it_is(number):
    assert cell(number) == number


@pytest.mark.parametrize(
    ("value", "written"),
    [(None, ""), (True, "true"), (-5, "-5"), (0.5, "0.5"), ({"a": [1]}, '"{""a"":[1]}"'), (["x"], '"[""x""]"')],
)
def test_what_is_no_text_is_written_as_json_has_it(value, written):
    assert cell(value) == written


@given(
    st.lists(st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=20), min_size=1)
)
def test_a_parser_reads_every_text_as_it_was_but_for_the_apostrophe(texts):
    rows = [{f"c{at}": text for at, text in enumerate(texts)}]
    columns = [*rows[0]]
    file = (head(Format.CSV, columns) + piece(Format.CSV, columns, rows, is_first=True)).decode("utf-8-sig")
    names, values = csv.reader(io.StringIO(file, newline=""), strict=True)
    assert names == columns
    assert all(read in (text, f"'{text}") for read, text in zip(values, texts, strict=True))


def test_a_csv_file_begins_with_a_byte_order_mark_and_has_its_columns_even_without_rows():
    assert head(Format.CSV, ["id", "title"]) == f"{BOM}id,title\r\n".encode()
    assert piece(Format.CSV, ["id"], [], is_first=True) == tail(Format.CSV) == b""


def test_pieces_of_a_json_file_are_one_array():
    rows = [{"id": 1, "title": "제목"}, {"id": 2}]
    file = head(Format.JSON, []) + piece(Format.JSON, [], rows[:1], is_first=True)
    file += piece(Format.JSON, [], rows[1:], is_first=False) + piece(Format.JSON, [], [], is_first=False)
    assert msgspec.json.decode(file + tail(Format.JSON)) == rows
    assert msgspec.json.decode(head(Format.JSON, []) + tail(Format.JSON)) == []


def test_the_answer_says_how_many_rows_there_are_and_whether_some_are_missing():
    told = headers("jobs", Format.CSV, rows=50_000, is_cut=True, now=datetime(2026, 3, 8, 9, 5, tzinfo=UTC))
    assert (told["Drover-Export-Rows"], told["Drover-Export-Cut"]) == ("50000", "true")
    assert told["Content-Disposition"] == 'attachment; filename="jobs-20260308-0905.csv"'
    assert told["Content-Type"].startswith("text/csv")


def test_the_media_types_of_all_formats_are_documented():
    documented = answer(list[dict[str, str]], headers={})
    assert list(documented.contents) == [media.partition(";")[0] for media in MEDIA.values()]
