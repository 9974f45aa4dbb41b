"""A hospital's own tables: what a mapping may say, and how its faults are told."""

import gzip
import re
from pathlib import Path

import duckdb
import pytest

from chartproof.chart.build import build
from chartproof.chart.schema import tables
from chartproof.chart.sources.mapped import MappedSource, shipped
from chartproof.chart.store import Store
from chartproof.errors import ChartError, ChartproofError, SpecError

MAPPING = """\
schema: 1
name: county
version: "2026-01"
tier: synthetic
sources:
  Pat:
    delimiter: ";"
    missing: NA
    columns: {mrn: INTEGER, sex: VARCHAR, "born in": SMALLINT}
  stays:
    columns: {mrn: INTEGER, visit: INTEGER, came: TIMESTAMP, went: TIMESTAMP}
  results:
    columns: {mrn: INTEGER, code: VARCHAR, taken: TIMESTAMP, result: DOUBLE, unit: VARCHAR}
  item:
    columns: {code: VARCHAR, itemid: INTEGER, label: VARCHAR}
    rows:
      - ["007", 50912, Creatinine]
tables:
  patients:
    coverage: Nothing but sex and age is known.
    select: |
      select mrn as subject_id, upper(sex) as gender, 2150 - "born in" as anchor_age,
        2150 as anchor_year
      from pat
  admissions:
    coverage: Only when.
    from: stays
    columns:
      subject_id: mrn
      hadm_id: visit
      admittime: came
      dischtime: went
    where: visit > 0
  labevents:
    coverage: No reference ranges.
    select: |
      -- a remark at the end is no harm
      select r.mrn as subject_id, i.itemid, r.taken as charttime, r.result as valuenum,
        r.result::varchar as value, r.unit as valueuom
      from results r join item i using (code);  -- as here
  d_labitems:
    coverage: Labels alone.
    from: item
    columns: {itemid: itemid, label: label, category: "'Chemistry'"}
not_covered:
  hosp: This hospital has no such records.
  icu: It has no intensive care.
  ed: It has no emergency department.
  note: Notes may not leave it.
"""

PATIENTS = "MRN;Sex;born in;ward\n9000001;f;2089;7\n9000002;m;NA;7\n"
STAYS = "mrn,visit,came,went\n9000001,8000001,2150-01-01 02:00:00,2150-01-04\n9000001,0,,\n"
RESULTS = (
    "mrn,code,taken,result,unit\n"
    "9000001,007,2150-01-01 06:00:00,1.2,mg/dL\n"
    "9000002,007,2150-01-01 06:00:00,,mg/dL\n"
    "9000001,7,2150-01-01 06:00:00,8,mg/dL\n"
)


class County:
    """The folder of a hospital, and its mapping."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "county"
        self.folder.mkdir()
        self.mapping = root / "mapping.yaml"
        self.mapping.write_text(MAPPING)
        (self.folder / "PAT.csv").write_text(PATIENTS)
        (self.folder / "stays.csv.gz").write_bytes(gzip.compress(STAYS.encode()))
        (self.folder / "results.csv").write_text(RESULTS)

    def map(self, old: str, new: str) -> None:
        assert old in MAPPING
        self.mapping.write_text(MAPPING.replace(old, new, 1))

    def source(self, *allow: str) -> MappedSource:
        return MappedSource(self.folder, self.mapping, allow)


@pytest.fixture
def county(tmp_path: Path) -> County:
    return County(tmp_path)


def rows(store: Path, table: str, columns: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as db:
        relation = Store.open(store).relation(table)
        return db.execute(f"select {columns} from {relation} order by all").fetchall()


def test_a_mapping_brings_tables_to_the_schema(county: County, tmp_path: Path) -> None:
    info = build(county.source(), tmp_path / "store")
    assert (info.source, info.version, info.tier) == ("county", "2026-01", "synthetic")
    store = tmp_path / "store"
    assert rows(store, "patients", "subject_id, gender, anchor_age, row_ref") == [
        (9000001, "F", 61, "patients:9000001"),
        (9000002, "M", None, "patients:9000002"),
    ]
    assert rows(store, "admissions", "hadm_id, dischtime::varchar") == [
        (8000001, "2150-01-04 00:00:00")
    ]
    assert rows(store, "labevents", "subject_id, itemid, value, valuenum") == [
        (9000001, 50912, "1.2", 1.2),
        (9000002, 50912, None, None),
    ]
    assert rows(store, "d_labitems", "itemid, label, category") == [
        (50912, "Creatinine", "Chemistry")
    ]
    covered = Store.open(store).coverage("labevents")
    assert covered.why == "No reference ranges."
    assert "ref_range_lower" in covered.missing
    assert Store.open(store).coverage("triage").why == "It has no emergency department."
    assert (store / "mapping.yaml").read_text() == MAPPING
    assert not any("row_ref" in each for each in info.warnings)


def test_tables_may_be_parquet_and_give_the_same_store(county: County, tmp_path: Path) -> None:
    whole = build(county.source(), tmp_path / "whole")
    file = county.folder / "results.csv"
    (county.folder / "results").mkdir()
    with duckdb.connect() as db:
        db.execute(
            f"copy (select mrn::double as MRN, * exclude (mrn) from read_csv('{file}', "
            "types = {'code': 'VARCHAR'}, header = true)) "
            f"to '{county.folder}/results/part.parquet' (format parquet)"
        )
    with pytest.raises(ChartError, match=r"Both .* may be the table results"):
        county.source()
    file.unlink()
    assert build(county.source(), tmp_path / "store").digest == whole.digest


def test_only_the_patients_asked_for_are_kept(county: County, tmp_path: Path) -> None:
    info = build(county.source(), tmp_path / "store", [9000002])
    assert info.patients == 1
    assert rows(tmp_path / "store", "labevents", "subject_id") == [(9000002,)]


def test_a_store_is_known_again_until_file_or_mapping_changes(
    county: County, tmp_path: Path
) -> None:
    first = build(county.source(), tmp_path / "store")
    assert build(county.source(), tmp_path / "store") == first
    (county.folder / "results.csv").write_text(RESULTS.replace("1.2", "1.3"))
    with pytest.raises(ChartError, match="--replace"):
        build(county.source(), tmp_path / "store")
    (county.folder / "results.csv").write_text(RESULTS)
    assert build(county.source(), tmp_path / "store") == first
    county.map("upper(sex)", "lower(sex)")
    with pytest.raises(ChartError, match="--replace"):
        build(county.source(), tmp_path / "store")


def test_what_reads_a_missing_table_is_not_covered_where_that_is_allowed(
    county: County, tmp_path: Path
) -> None:
    (county.folder / "results.csv").unlink()
    said = r"results\.csv` is missing.*mapping\.yaml`, line 12.*--allow-missing results"
    with pytest.raises(ChartError, match=said):
        county.source()
    info = build(county.source("results"), tmp_path / "store")
    assert not next(each for each in info.coverage if each.table == "labevents").covered
    assert any("results" in each for each in info.warnings)
    with pytest.raises(SpecError, match=r"--allow-missing labs` names no table under `sources`"):
        county.source("labs")
    (county.folder / "stays.csv.gz").unlink()
    with pytest.raises(ChartError, match=r"line 25: admissions reads stays, which is missing"):
        county.source("results", "stays")


@pytest.mark.parametrize(
    ("old", "new", "at", "message"),
    [
        ("tier: synthetic", "teir: synthetic", "", "`tier` is not valid: field required"),
        ("tier: synthetic", "tier: secret", "tier:", "`tier` is not valid"),
        ("    where: v", "    wehre: v", "wehre", "`tables.admissions.wehre` is not valid: extra"),
        ("delimiter: ", "delimeter: ", "delimeter", "`sources.Pat.delimeter` is not valid: extra"),
        ("unit: VARCHAR}", "unit: TEXT}", "unit: TEXT", "`sources.results.columns.unit`"),
        ("  d_labitems:", "  labitems:", "  labitems", "there is no table `labitems`"),
        ("  ed: ", "  urgent: ", "  urgent", "there is no table `urgent`"),
        ("  ed: It has", "  admissions: Has", "  admissions: Has", "admissions is under `tables`"),
        ("  ed: It has no emergency department.\n", "", "", "what becomes of diagnosis, edstays"),
        ("  admissions:\n", "  omr:\n", "", "what becomes of admissions. A store needs"),
        (
            "upper(sex)",
            "upper(ward)",
            "upper(ward)",
            'patients: Binder Error: Referenced column "ward',
        ),
        (
            "from pat\n",
            "from patient\n",
            "from patient\n",
            "Table with name patient does not exist.",
        ),
        ("from pat\n", "from 'PAT.csv'\n", "    select: |", "patients: "),
        ("from pat\n", "from main.pat\n", "  patients:", "`pat` is named with a schema"),
        ("from pat\n", "from read_csv('x')\n", "  patients:", "`read_csv` reads past the declared"),
        (
            "      select mrn",
            "      delete from pat; select mrn",
            "  patients:",
            "exactly one SELECT",
        ),
        (
            "      select mrn",
            "      pivot pat on sex; select mrn",
            "  patients:",
            "exactly one SELECT",
        ),
        (
            "      select mrn",
            "      summarize select mrn",
            "  patients:",
            "patients gives column_name",
        ),
        (
            "hadm_id: visit\n",
            "hadm_id: stay\n",
            "hadm_id: stay",
            'Referenced column "stay" not found',
        ),
        ("from: stays", "from: visits", "  admissions:", "Table with name visits does not exist"),
        ("      hadm_id: visit\n", "", "  admissions:", "admissions gives no hadm_id. No chart"),
        ("    coverage: Only when.\n", "", "  admissions:", "gives no deathtime, admission_type"),
        (
            "as gender",
            "as sex",
            "  patients:",
            "patients gives sex, which the schema does not have",
        ),
        ("r.mrn as subject_id, ", "", "  labevents:", "labevents gives no subject_id"),
        ("result::varchar as", "result as", "  labevents:", "value is DOUBLE where the schema has"),
        ("r.taken as c", "r.result as c", "  labevents:", "charttime is no TIMESTAMP, as DOUBLE"),
        ('["007", 50912,', "[007, 50912,", "[007", "row 1 of item: `7` is no VARCHAR for code"),
        ('["007", 50912,', '["007",', '["007"', "row 1 of item has 2 cells for 3 columns"),
        ("    from: item\n", "", "  d_labitems:", "value error, give either select, or from"),
        (
            "sex: VARCHAR",
            "gender: VARCHAR",
            "  Pat:",
            "PAT.csv` lacks gender; it has the columns mrn",
        ),
    ],
)
def test_a_fault_of_the_mapping_is_named_with_its_line(
    county: County, old: str, new: str, at: str, message: str
) -> None:
    county.map(old, new)
    with pytest.raises(ChartproofError, match=re.escape(message)) as told:
        county.source()
    if at:
        text = county.mapping.read_text()
        line = text[: text.index(at)].count("\n") + 1
        assert f"line {line}" in str(told.value)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (
            "results.csv",
            "1.2,",
            "high,",
            r"results\.csv`, row 1, column result: `high` is no DOUBL",
        ),
        ("results.csv", "9000002", "MRN-2", r"results\.csv`, row 2, column mrn: `MRN-2` is no INT"),
        ("results.csv", "8,mg", '"8,mg', r"results\.csv`, line 4: a quote is opened"),
        ("results.csv", "8,mg/dL", "8", r"results\.csv`, line 4: 4 cells where the header has 5"),
        ("PAT.csv", "2089", "2089.5", r"PAT\.csv`, row 1, column born in: `2089\.5` is no SMALLI"),
        ("PAT.csv", ";ward", ";sex", r"PAT\.csv` repeats sex"),
        ("PAT.csv", "9000002", "", r"patients has 1 rows without a subject_id"),
    ],
)
def test_a_fault_of_a_file_is_named_with_its_place(
    county: County, tmp_path: Path, *, file: str, old: str, new: str, message: str
) -> None:
    path = county.folder / file
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(ChartError, match=message):
        build(county.source(), tmp_path / "store")


def test_a_fault_that_shows_only_in_the_select_is_named_with_its_line(
    county: County, tmp_path: Path
) -> None:
    county.map("r.unit as valueuom", "r.unit::integer as specimen_id")
    with pytest.raises(ChartError, match=r"line 34: labevents: the SELECT failed: .*mg/dL"):
        build(county.source(), tmp_path / "store")
    county.map("i.itemid, ", "i.itemid + 0.5 as itemid, ")
    said = r"labevents, in a row of patient 9000001, column itemid: `50912\.5` is no INTEGER"
    with pytest.raises(ChartError, match=said):
        build(county.source(), tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_names_of_the_hospital_never_meet_those_of_a_build(county: County, tmp_path: Path) -> None:
    whole = build(county.source(), tmp_path / "whole", [9000001])
    text = MAPPING.replace("  results:", "  staged:").replace("from results", "from staged")
    text = text.replace("  item:", "  wanted:").replace("join item", "join wanted")
    county.mapping.write_text(text.replace("from: item", "from: wanted"))
    (county.folder / "results.csv").rename(county.folder / "staged.csv")
    assert build(county.source(), tmp_path / "store", [9000001]).digest == whole.digest


def test_files_of_another_dialect_are_read_as_declared(county: County, tmp_path: Path) -> None:
    county.map(
        "    columns: {mrn: INTEGER, code",
        '    {file: labs/all.txt, delimiter: "\\t", quote: "",\n    columns: {mrn: INTEGER, code',
    )
    county.mapping.write_text(
        county.mapping.read_text().replace("unit: VARCHAR}", "unit: VARCHAR}}")
    )
    (county.folder / "labs").mkdir()
    (county.folder / "labs" / "all.txt").write_text(
        'MRN\tCODE\tTAKEN\tRESULT\tUNIT\n9000001\t007\t2150-01-01 06:00:00\t1.2\t5" tube\n'
    )
    build(county.source(), tmp_path / "store")
    assert rows(tmp_path / "store", "labevents", "valueuom") == [('5" tube',)]


def test_a_mapping_says_what_becomes_of_every_table() -> None:
    text = shipped("omop-5.4")
    for name in tables():
        assert re.search(rf"^  {name}:", text, re.MULTILINE), name
    with pytest.raises(SpecError, match=r"no mapping `fhir`.*omop-5\.4"):
        shipped("fhir")
