"""A site's guideline, imported: what is kept, what is lost, and that the loss is told."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fpdf import FPDF
from fpdf.enums import AccessPermission
from PIL import Image

from chartproof.catalog import pdf
from chartproof.catalog.importing import Described, add, record_of
from chartproof.catalog.read import OWN, corpus
from chartproof.errors import DiskError, SpecError

SAID = Described(id="my-site", title="House rules", body="House", year="2150")
PROSE = (
    "Contrast is withheld when the clearance is below thirty and no dialysis is under way. "
    "The attending physician may decide otherwise and documents the reason in the record. "
)


def paper() -> FPDF:
    made = FPDF()
    made.set_auto_page_break(auto=False)
    made.add_page()
    made.set_font("Helvetica", size=11)
    return made


def saved(made: FPDF, tmp_path: Path) -> Path:
    path = tmp_path / "My Site.pdf"
    made.output(str(path))
    return path


def heading(made: FPDF, text: str, size: int = 16) -> None:
    made.set_font("Helvetica", "B", size)
    made.multi_cell(0, 8, text, new_x="LMARGIN", new_y="NEXT")
    made.set_font("Helvetica", size=11)


def prose(made: FPDF, text: str = PROSE, width: float = 0) -> None:
    made.multi_cell(width, 5, text, align="L", new_x="LEFT", new_y="NEXT")


def lost(path: Path, tmp_path: Path) -> tuple[list[str], list[tuple[str, int | None]]]:
    added = add(path, tmp_path / "policies", SAID, replace=True)
    kinds = [(loss.kind, loss.page) for loss in added.made.losses]
    return list(added.policy.lines), kinds


def test_headings_and_sentences_become_lines(tmp_path: Path) -> None:
    made = paper()
    heading(made, "Contrast in kidney disease", 18)
    prose(made)
    heading(made, "When to withhold", 14)
    prose(made, "Withhold below 30 mL/min.")
    lines, losses = lost(saved(made, tmp_path), tmp_path)
    assert [line for line in lines if line] == [
        "# Contrast in kidney disease",
        *PROSE.strip().replace(". ", ".\n").split("\n"),
        "## When to withhold",
        "Withhold below 30 mL/min.",
    ]
    assert losses == []


def test_two_columns_are_read_one_after_the_other_and_told(tmp_path: Path) -> None:
    made = paper()
    heading(made, "A title across the whole page")
    y = made.get_y()
    prose(made, PROSE * 3, width=85)
    made.set_xy(110, y)
    prose(made, ("The right column begins here. " + PROSE * 3), width=85)
    lines, losses = lost(saved(made, tmp_path), tmp_path)
    assert losses == [("columns", 1)]
    text = [line for line in lines if line]
    assert text[0] == "# A title across the whole page"
    at = next(n for n, line in enumerate(text) if line.startswith("The right column"))
    assert len(text[1:at]) == 6
    assert all(line in PROSE for line in text[1:at])


def test_a_ruled_table_is_a_table(tmp_path: Path) -> None:
    made = paper()
    prose(made)
    with made.table(first_row_as_headings=False) as table:
        for row in (("Stage", "Creatinine"), ("1", "1.5 to 1.9 x"), ("3", ">= 3.0 x | any")):
            table.row(row)
    lines, losses = lost(saved(made, tmp_path), tmp_path)
    at = lines.index("| Stage | Creatinine |")
    assert lines[at + 1 : at + 4] == ["|---|---|", "| 1 | 1.5 to 1.9 x |", "| 3 | >= 3.0 x ¦ any |"]
    assert losses == []


def test_a_table_without_rules_is_told_with_its_lines(tmp_path: Path) -> None:
    made = paper()
    prose(made)
    made.ln(6)
    for row in (("Stage 1", "1.5", "mild"), ("Stage 2", "2.0", "some"), ("Stage 3", "3.0", "bad")):
        for cell in row:
            made.cell(50, 6, cell)
        made.ln()
    added = add(saved(made, tmp_path), tmp_path / "policies", SAID)
    (loss,) = added.made.losses
    assert (loss.kind, loss.page) == ("table flattened", 1)
    assert loss.lines is not None
    first, last = loss.lines
    assert added.policy.lines[first - 1 : last] == (
        "Stage 1 | 1.5 | mild", "Stage 2 | 2.0 | some", "Stage 3 | 3.0 | bad")  # fmt: skip


def test_a_scanned_page_and_a_picture_are_told(tmp_path: Path) -> None:
    made = paper()
    prose(made)
    made.image(Image.new("RGB", (60, 60), "red"), x=20, y=80, w=50)
    made.add_page()
    made.image(Image.new("RGB", (100, 140), "grey"), x=0, y=0, w=210)
    _, losses = lost(saved(made, tmp_path), tmp_path)
    assert losses == [("picture", 1), ("scanned page", 2)]


def test_a_file_of_scanned_pages_alone_is_refused(tmp_path: Path) -> None:
    made = paper()
    made.image(Image.new("RGB", (100, 140), "grey"), x=0, y=0, w=210)
    with pytest.raises(SpecError, match="Recognise the text first"):
        add(saved(made, tmp_path), tmp_path / "policies", SAID)


def test_a_page_written_sideways_is_read_and_told(tmp_path: Path) -> None:
    made = paper()
    with made.rotation(90, 100, 150):
        made.set_xy(30, 100)
        prose(made)
    lines, losses = lost(saved(made, tmp_path), tmp_path)
    assert losses == [("turned text", 1)]
    assert PROSE.split(". ", maxsplit=1)[0] + "." in lines


def test_titles_that_run_over_the_pages_are_left_out_and_told(tmp_path: Path) -> None:
    made = paper()
    for n in (1, 2, 3):
        if n > 1:
            made.add_page()
        made.set_xy(20, 10)
        made.cell(0, 5, "House rules 2150")
        made.set_xy(20, 285)
        made.cell(0, 5, f"Page {n} of 3")
        made.set_xy(20, 60)
        prose(made, f"Rule {n} stands on its own page.")
    lines, losses = lost(saved(made, tmp_path), tmp_path)
    assert lines == [f"Rule {n} stands on its own page." for n in (1, 2, 3)]
    assert losses == [("running title left out", None)] * 2


def test_numbers_set_high_or_low_stay_apart_from_those_beside_them(tmp_path: Path) -> None:
    made = paper()
    for text, where in (
        ("Platelets below 50 x 10", ""),
        ("9", "SUP"),
        ("/L, SpO", ""),
        ("2", "SUB"),
    ):
        made.char_vpos = where or "LINE"
        made.write(5, text)
    lines, _ = lost(saved(made, tmp_path), tmp_path)
    assert lines == ["Platelets below 50 x 10⁹/L, SpO₂"]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda _raw: b"", "is empty"),
        (lambda _raw: b"hello", "is no PDF"),
        (lambda raw: raw[: len(raw) // 2], "is cut off"),
        (lambda raw: raw[:9] + b"\n%%EOF", "damaged|no page"),
        (lambda raw: raw[:200] + b"\xff" * 300 + raw[500:], "damaged|no page|holds no text"),
    ],
)
def test_a_file_that_is_no_whole_pdf_is_refused_with_the_reason(
    tmp_path: Path, damage: Callable[[bytes], bytes], said: str
) -> None:
    made = paper()
    prose(made)
    path = saved(made, tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(SpecError, match=said):
        add(path, tmp_path / "policies", SAID)
    assert not (tmp_path / "policies").exists()


def test_an_encrypted_file_is_refused(tmp_path: Path) -> None:
    made = paper()
    prose(made)
    made.set_encryption("owner", "secret", permissions=AccessPermission.none())
    with pytest.raises(SpecError, match="is encrypted"):
        add(saved(made, tmp_path), tmp_path / "policies", SAID)


def test_a_file_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    made = paper()
    prose(made)
    monkeypatch.setattr(pdf, "PAGES", 0)
    with pytest.raises(SpecError, match="has 1 pages"):
        add(saved(made, tmp_path), tmp_path / "policies", SAID)
    monkeypatch.setattr(pdf, "LARGEST", 10)
    with pytest.raises(SpecError, match="MB"):
        add(tmp_path / "My Site.pdf", tmp_path / "policies", SAID)


def test_without_the_extra_a_pdf_names_it(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(pdf, "find_spec", lambda _name: None)
    with pytest.raises(SpecError, match=r"pip install -e \.\[pdf\]"):
        add(saved(paper(), tmp_path), tmp_path / "policies", SAID)


MARKDOWN = "# House rule\r\n\r\nOne line.\r\n![flow](flow.png)\r\n" + "word " * 400 + "\r\n"


def test_markdown_is_kept_line_by_line_and_its_account_lies_beside(tmp_path: Path) -> None:
    path = tmp_path / "Rule 7.md"
    path.write_text(MARKDOWN, newline="")
    added = add(path, tmp_path / "policies", Described(body="House", year="2150"))
    policy = added.policy
    assert (policy.id, policy.title, policy.site) == ("rule-7", "House rule", True)
    assert policy.lines[:4] == ("# House rule", "", "One line.", "![flow](flow.png)")
    assert all(len(line) <= 1_000 for line in policy.lines)
    told = json.loads(record_of(added.path).read_text())
    assert [(loss["kind"], loss["lines"]) for loss in told["losses"]] == [
        ("picture", [4, 4]), ("long line broken", [5, len(policy.lines)])]  # fmt: skip
    assert told["policy"] == policy.digest
    assert corpus(tmp_path / "policies")["rule-7"] == policy


def test_front_matter_is_believed_and_options_override_it(tmp_path: Path) -> None:
    path = tmp_path / "r.md"
    path.write_text("---\nid: a\ntitle: T\nbody: B\nyear: 2149\nsource: S\n---\ntext\n")
    policy = add(path, tmp_path / "p", Described(year="2150")).policy
    assert (policy.id, policy.title, policy.year, policy.source) == ("a", "T", "2150", "S")


@pytest.mark.parametrize(
    ("said", "word"),
    [
        (Described(year="2150"), "issuing body"),
        (Described(body="B"), "year"),
        (Described(body="B", year="1", id="Ä"), "cannot|no id"),
        (Described(body="B", year="1", id="../x"), "no id"),
        (Described(body="B", year="1", id="kdigo-aki-2012"), "comes with chartproof"),
    ],
)
def test_what_is_not_known_is_asked_for(tmp_path: Path, said: Described, word: str) -> None:
    path = tmp_path / "rule.md"
    path.write_text("# Rule\ntext\n")
    with pytest.raises(SpecError, match=word):
        add(path, tmp_path / "p", said)


def test_an_id_that_is_taken_needs_replace(tmp_path: Path) -> None:
    path = tmp_path / "rule.md"
    path.write_text("# Rule\ntext\n")
    said = Described(body="B", year="1")
    add(path, tmp_path / "p", said)
    with pytest.raises(SpecError, match="--replace"):
        add(path, tmp_path / "p", said)
    path.write_text("# Rule\nother\n")
    assert add(path, tmp_path / "p", said, replace=True).policy.lines == ("# Rule", "other")


@pytest.mark.parametrize(
    ("name", "raw", "word"),
    [
        ("r.md", b"", "is empty"),
        ("r.md", b"\xff\xfe", "UTF-8"),
        ("r.md", b"a\0b", "NUL"),
        ("r.docx", b"PK", "neither PDF nor Markdown"),
    ],
)
def test_a_file_that_is_no_text_is_refused(
    tmp_path: Path, name: str, raw: bytes, word: str
) -> None:
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(SpecError, match=word):
        add(tmp_path / name, tmp_path / "p", SAID)


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "r.md").write_text("# R\n")
    with pytest.raises(DiskError, match="could not be written"):
        add(tmp_path / "r.md", tmp_path / "file" / "p", SAID)


def test_a_site_policy_that_shadows_a_shipped_one_is_refused_when_read(tmp_path: Path) -> None:
    (tmp_path / "kdigo-aki-2012.md").write_text("---\n---\n")
    with pytest.raises(SpecError, match="comes with chartproof"):
        corpus(tmp_path)
    with pytest.raises(SpecError, match="no folder of policies"):
        corpus(tmp_path / "none")
    assert len(corpus(None)) >= 12


def test_what_stands_beside_a_sites_scenarios_is_part_of_the_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guideline = tmp_path / "protocol.md"
    guideline.write_text("# House rules\n\n## Rule\nCalcium within the hour.\n")
    beside = tmp_path / "scenarios" / "policies"
    add(guideline, beside, SAID)
    assert "my-site" not in corpus(None)
    monkeypatch.setenv(OWN, str(tmp_path / "scenarios"))
    assert "Calcium within the hour." in corpus(None)["my-site"].lines
    add(guideline, beside, SAID, replace=True)  # it is the site's own, and may be replaced
    add(guideline, tmp_path / "home", SAID)
    with pytest.raises(SpecError, match="beside the site's scenarios"):
        corpus(tmp_path / "home")
