"""Clinicians are given a pack, and what they write comes back by line."""

import csv
import os
from pathlib import Path

import pytest

from chartproof.api.review import FORM, HINT, pack, read_reviews, summary
from chartproof.api.suite import folders
from chartproof.errors import SpecError

IDS = ["post-ct-aki", "renal-trajectory"]


def filled(folder: Path, *lines: tuple[str, str, str]) -> Path:
    """A pack's form with realism, minutes and revision for lines by reviewer and scenario."""
    form = pack(folders(IDS), folder / "pack")
    with form.open() as file:
        rows = list(csv.DictReader(file))
    for row, (realism, minutes, revision) in zip(rows, lines, strict=False):
        row |= {"realism": realism, "minutes": minutes, "revision": revision}
    with form.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return form


def test_a_pack_tells_all_that_decides_and_asks_two_reviewers(tmp_path: Path) -> None:
    form = pack(folders(IDS), tmp_path / "pack")
    page = (tmp_path / "pack" / "post-ct-aki.md").read_text()
    spec = folders(IDS)[0].scenario
    assert all(rule.id in page and rule.about.split()[0] in page for rule in spec.rules)
    assert all(each.term in page for each in spec.definitions)
    assert all(f"**{each.name}**" in page for each in spec.facts)
    assert all(f"**{name}**" in page for name in spec.derive)
    assert "Holds when `len(post) < 2`" in page
    assert "itemid = 50912" in page
    assert HINT in page
    with form.open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["reviewer"], row["scenario"]) for row in rows] == [
        (f"reviewer-{n}", name) for n in (1, 2) for name in IDS
    ]


def test_a_pack_writes_over_nothing(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="stands already"):
        pack(folders(IDS), tmp_path)


def test_what_reviewers_say_is_summed_up_by_hand(tmp_path: Path) -> None:
    form = filled(
        tmp_path,
        ("4", "30", "Name the unit"),
        ("5", "15", ""),
        ("2", "50", ""),
    )
    table = summary(read_reviews(form), folders(IDS))
    aki, renal = ([cell.text for cell in row] for row in table.rows)
    assert (aki[0], aki[2:]) == ("post-ct-aki", ["2", "2", "40", "1"])
    assert (renal[0], renal[2:]) == ("renal-trajectory", ["1", "5", "15", "0"])
    assert table.rows[0][-1].why == "Name the unit"


def test_a_review_of_another_version_says_so(tmp_path: Path) -> None:
    form = filled(tmp_path, ("4", "30", ""))
    version = folders(IDS)[0].digest[:12]
    form.write_text(form.read_text().replace(version, "0" * 12))
    table = summary(read_reviews(form), folders(IDS))
    assert table.rows[0][1].text == f"{'0' * 12}, not this one"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("9", "30", ""), "line 2: `9` is no realism"),
        (("4", "soon", ""), "line 2: `soon` is no minutes"),
    ],
)
def test_a_wrong_cell_is_told_by_its_line(
    tmp_path: Path, line: tuple[str, str, str], said: str
) -> None:
    with pytest.raises(SpecError, match=said):
        read_reviews(filled(tmp_path, line))


def test_an_empty_form_is_told(tmp_path: Path) -> None:
    pack(folders(IDS), tmp_path / "pack")
    with pytest.raises(SpecError, match="holds no filled line"):
        read_reviews(tmp_path / "pack" / FORM)


def test_a_pipe_for_a_form_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / FORM)
    with pytest.raises(SpecError, match="is no regular file"):
        read_reviews(tmp_path / FORM)
