"""The official layout: what is read, and what is refused with file, place and remedy."""

import gzip
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from tests.chart.layout import Layout

from chartproof.chart.build import build
from chartproof.chart.schema import tables
from chartproof.chart.sources.mimic import MimicSource
from chartproof.chart.store import Store
from chartproof.errors import ChartError


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "mimic").small()


def rows(path: Path, table: str, columns: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as db:
        relation = Store.open(path).relation(table)
        return db.execute(f"select {columns} from {relation} order by all").fetchall()


def test_values_come_through_as_they_stand(layout: Layout, tmp_path: Path) -> None:
    layout.put(
        "hosp",
        "diagnoses_icd",
        "subject_id,hadm_id,seq_num,icd_code,icd_version\n9000001,8000001,1,0090,9\n",
    )
    layout.put(
        "note",
        "discharge",
        "note_id,subject_id,hadm_id,note_type,note_seq,charttime,storetime,text\n"
        "9000001-DS-1,9000001,8000001,DS,1,2150-01-04 00:00:00,2150-01-05 07:00:00.090,"
        '"Line one.\n\nShe said ""no"", twice."\n',
    )
    layout.rest("note")
    build(MimicSource(layout.root), tmp_path / "store")
    assert rows(tmp_path / "store", "diagnoses_icd", "icd_code") == [("0090",)]
    ((text, stored),) = rows(tmp_path / "store", "discharge", "text, storetime::varchar")
    assert text == 'Line one.\n\nShe said "no", twice.'
    assert stored == "2150-01-05 07:00:00.09"


def test_an_empty_string_is_null_quoted_or_not(layout: Layout, tmp_path: Path) -> None:
    layout.labs('1,9000001,,5,50912,,2150-01-01 06:00:00,,"",1.2,mg/dL,,,,,\n')
    build(MimicSource(layout.root), tmp_path / "store")
    assert rows(tmp_path / "store", "labevents", "hadm_id, value, valuenum, flag") == [
        (None, None, 1.2, None)
    ]


def test_a_column_that_the_original_forbids_to_be_empty_may_be(
    layout: Layout, tmp_path: Path
) -> None:
    def row(table: str, **cells: str) -> str:
        return ",".join(cells.get(name, "") for name in tables()[table].columns) + "\n"

    mine = {"subject_id": "9000001", "hadm_id": "8000001"}
    drug = row("prescriptions", **mine, pharmacy_id="31", drug_type="MAIN", drug='""')
    layout.put("hosp", "prescriptions", layout.header("prescriptions") + drug)
    culture = row("microbiologyevents", **mine, microevent_id="7", chartdate="2150-01-02 00:00:00")
    layout.put("hosp", "microbiologyevents", layout.header("microbiologyevents") + culture)
    build(MimicSource(layout.root), tmp_path / "store")
    assert rows(tmp_path / "store", "prescriptions", "pharmacy_id, drug") == [(31, None)]
    assert rows(tmp_path / "store", "microbiologyevents", "spec_type_desc") == [(None,)]


def test_a_quote_that_comes_late_in_a_file_is_a_quote(layout: Layout, tmp_path: Path) -> None:
    plain = "".join(f"A{n:04},1,long {n},short {n}\n" for n in range(9000))
    late = 'A9000,1,"long, with ""quotes"" and a comma",short\n'
    layout.put("hosp", "d_hcpcs", layout.header("d_hcpcs") + plain + late)
    build(MimicSource(layout.root), tmp_path / "store")
    found = rows(tmp_path / "store", "d_hcpcs", "code, long_description")
    assert len(found) == 9001
    assert found[0] == ("A0000", "long 0")
    assert found[-1] == ("A9000", 'long, with "quotes" and a comma')


def test_a_long_note_of_many_lines_is_one_row(layout: Layout, tmp_path: Path) -> None:
    text = "".join(f'Line {n}: "so", she said.\n' for n in range(2200))
    assert len(text) > 50_000
    quoted = text.replace('"', '""')
    layout.put(
        "note",
        "discharge",
        layout.header("discharge")
        + "9000001-DS-1,9000001,8000001,DS,1,2150-01-04 00:00:00,2150-01-05 07:00:00,"
        + f'"{quoted}"\n',
    )
    layout.rest("note")
    build(MimicSource(layout.root), tmp_path / "store")
    assert rows(tmp_path / "store", "discharge", "text") == [(text,)]


def test_columns_are_found_by_name_in_any_case_and_order(layout: Layout, tmp_path: Path) -> None:
    layout.put(
        "hosp",
        "patients",
        "DOD,anchor_year_group,anchor_year,anchor_age,gender,Subject_ID\n"
        "2151-02-03,2011 - 2013,2150,61,F,9000001\n",
    )
    build(MimicSource(layout.root), tmp_path / "store")
    assert rows(
        tmp_path / "store", "patients", "subject_id, anchor_age, dod::varchar, row_ref"
    ) == [(9000001, 61, "2151-02-03", "patients:9000001")]


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_plain_and_compressed_files_give_the_same_store(ending: str, tmp_path: Path) -> None:
    layout = Layout(tmp_path / "mimic", ending=ending).small()
    info = build(MimicSource(layout.root), tmp_path / "store")
    other = Layout(tmp_path / "other", ending=".csv").small()
    assert info.digest == build(MimicSource(other.root), tmp_path / "second").digest


def test_an_absent_module_is_not_covered(layout: Layout, tmp_path: Path) -> None:
    info = build(MimicSource(layout.root), tmp_path / "store")
    store = Store.open(tmp_path / "store")
    assert not store.coverage("triage").covered
    assert store.coverage("triage").why == "The source has no module ed."
    assert store.coverage("labevents").covered
    assert rows(tmp_path / "store", "triage", "*") == []
    assert info.tier == "credentialed"


def test_a_missing_table_of_a_present_module_must_be_allowed(
    layout: Layout, tmp_path: Path
) -> None:
    (layout.root / "hosp" / "emar.csv").unlink()
    with pytest.raises(ChartError, match=r"hosp/emar\.csv\.gz` is missing.*--allow-missing emar"):
        MimicSource(layout.root)
    info = build(MimicSource(layout.root, frozenset({"emar"})), tmp_path / "store")
    assert not next(c for c in info.coverage if c.table == "emar").covered
    assert any("emar" in each for each in info.warnings)


def test_without_patients_there_is_no_store(layout: Layout) -> None:
    (layout.root / "hosp" / "patients.csv").unlink()
    with pytest.raises(ChartError, match="patients"):
        MimicSource(layout.root, frozenset({"patients"}))


def test_a_wrong_header_names_what_lacks_and_what_is_unknown(layout: Layout) -> None:
    layout.put("hosp", "omr", "subject_id,chartdate,seq_num,result,result_value\n")
    with pytest.raises(
        ChartError, match=r"omr\.csv`, line 1: the header lacks result_name; has unknown result\."
    ):
        MimicSource(layout.root)


def test_a_column_may_be_allowed_to_be_missing_or_ignored(layout: Layout, tmp_path: Path) -> None:
    layout.put(
        "hosp",
        "omr",
        "subject_id,chartdate,seq_num,extra,result_value\n9000001,2150-01-01,1,x,70\n",
    )
    source = MimicSource(layout.root, frozenset({"omr.result_name"}), frozenset({"omr.extra"}))
    info = build(source, tmp_path / "store")
    omr = next(each for each in info.coverage if each.table == "omr")
    assert omr.covered
    assert omr.missing == ("result_name",)
    assert rows(tmp_path / "store", "omr", "result_name, result_value") == [(None, "70")]


def test_a_name_that_is_no_table_or_column_is_refused(layout: Layout) -> None:
    with pytest.raises(ChartError, match="`emr` names no table"):
        MimicSource(layout.root, frozenset({"emr"}))


GOOD = "1,9000001,,5,50912,,2150-01-01 06:00:00,,1.2,1.2,mg/dL,,,,,\n"


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (GOOD.replace("1.2,1.2", "1.2,high"), r"line 17, column valuenum: `high` is no DOUBLE"),
        (GOOD.replace("2150-01-01", "2150-13-01"), r"line 17, column charttime: .*no TIMESTAMP"),
        (GOOD.replace("50912", "50912.5"), r"row 16, column itemid: `50912.5` is no INTEGER"),
        (GOOD.replace("50912", "5091200000"), r"row 16, column itemid: `5091200000` is no INTEGER"),
        (
            GOOD.replace("50912", "creatinine"),
            r"line 17, column itemid: `creatinine` is no INTEGER",
        ),
        (GOOD.replace(",mg/dL", ""), r"line 17: 15 cells where the header has 16"),
        (GOOD.replace("mg/dL", '"mg/dL'), r"a quote is opened and never closed"),
    ],
)
def test_a_bad_value_is_named_with_its_place(
    layout: Layout, tmp_path: Path, bad: str, message: str
) -> None:
    layout.labs(GOOD * 15 + bad)
    with pytest.raises(ChartError, match=r"labevents\.csv`.*" + message):
        build(MimicSource(layout.root), tmp_path / "store")
    assert not (tmp_path / "store").exists()


def damaged(break_it: Callable[[bytes], bytes], layout: Layout) -> Path:
    whole = gzip.compress(layout.text("labevents").encode() + GOOD.encode() * 500, compresslevel=0)
    (layout.root / "hosp" / "labevents.csv").unlink()
    file = layout.root / "hosp" / "labevents.csv.gz"
    file.write_bytes(break_it(whole))
    return file


@pytest.mark.parametrize(
    "break_it",
    [
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole[:-4],
        lambda whole: b"no gzip at all",
        lambda whole: b"",
        # Still a readable file: only the checksum tells.
        lambda whole: whole[:-400].replace(b"50912", b"50913") + whole[-400:],
    ],
)
def test_a_damaged_gzip_is_refused(
    layout: Layout, tmp_path: Path, break_it: Callable[[bytes], bytes]
) -> None:
    damaged(break_it, layout)
    with pytest.raises(ChartError, match=r"labevents\.csv\.gz"):
        build(MimicSource(layout.root), tmp_path / "store")


def test_a_file_that_the_list_of_digests_contradicts_is_refused(
    layout: Layout, tmp_path: Path
) -> None:
    (layout.root / "SHA256SUMS.txt").write_text(f"{'0' * 64}  hosp/labevents.csv\n")
    with pytest.raises(ChartError, match=r"not the file that SHA256SUMS\.txt lists"):
        build(MimicSource(layout.root), tmp_path / "store")


def test_only_the_demo_s_own_list_opens_the_tier(layout: Layout) -> None:
    assert MimicSource(layout.root).tier == "credentialed"
    (layout.root / "demo_subject_id.csv").write_text("subject_id\n9000001\n9000002\n")
    assert MimicSource(layout.root).tier == "open"
    (layout.root / "demo_subject_id.csv").write_text("subject_id\n9000002\n")
    assert MimicSource(layout.root).tier == "credentialed"


def test_odd_admissions_are_counted_not_refused(layout: Layout, tmp_path: Path) -> None:
    layout.admissions(
        (8000001, "2150-01-05 10:00:00", "2150-01-04 10:00:00"),
        (8000002, "2150-02-01 10:00:00", "2150-02-09 10:00:00"),
        (8000003, "2150-02-03 10:00:00", "2150-02-04 10:00:00"),
        (8000003, "2150-03-03 10:00:00", "2150-03-04 10:00:00"),
    )
    info = build(MimicSource(layout.root), tmp_path / "store")
    first = "the first is hadm_id {} of patient 9000001."
    assert f"admissions: 1 end before they begin; {first.format(8000001)}" in info.warnings
    overlap = "admissions: 1 begin before an earlier one of the same patient ends; "
    assert overlap + first.format(8000003) in info.warnings
    assert any("1 values of hadm_id stand on 2 rows" in each for each in info.warnings)
    assert sorted(ref for (ref,) in rows(tmp_path / "store", "admissions", "row_ref"))[-2:] == [
        "admissions:8000003",
        "admissions:8000003.2",
    ]


def test_every_table_of_the_schema_is_looked_for(layout: Layout) -> None:
    stated = {each.table for each in MimicSource(layout.root).coverage()}
    assert stated == set(tables())
