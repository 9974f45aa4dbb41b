"""The reader of the catalogue, and the whole of it."""

import os
from pathlib import Path

import pytest

from chartproof.catalog.read import (
    corpus,
    parse_yaml,
    policies,
    prompt,
    read_folder,
    read_policy,
    read_text,
    read_yaml,
    scenario,
    scenario_ids,
    validity,
)
from chartproof.errors import SpecError
from chartproof.records.notes import Notes


def test_every_scenario_reads_and_bears_the_name_of_its_folder() -> None:
    assert {"post-ct-aki", "renal-trajectory"} <= set(scenario_ids())
    for id_ in scenario_ids():
        assert scenario(id_).id == id_


def test_an_unknown_scenario_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SpecError, match="post-ct-aki"):
        scenario("post-ct-akí")


@pytest.mark.parametrize(
    "id_", ["kdigo-aki-2012", "acr-contrast-manual", "kdigo-ckd-2024", "ckd-epi-2021"]
)
def test_the_kidney_digests_mark_what_is_the_audits_own(id_: str) -> None:
    lines = policies()[id_].lines
    assert any(line.startswith("[op]") for line in lines)
    assert "digest" in " ".join(lines[:4])


def test_the_digest_changes_with_what_decides_and_not_with_twins(tmp_path: Path) -> None:
    source = scenario("renal-trajectory").path
    copy = tmp_path / "renal-trajectory"
    copy.mkdir()
    for name in ("scenario.yaml", "facts.sql", "notes.yaml"):
        (copy / name).write_text((source / name).read_text())
    same = read_folder(copy)
    assert same.digest == scenario("renal-trajectory").digest
    assert same.twins == ()
    assert same.recipes is None
    (copy / "facts.sql").write_text("select 1")
    assert read_folder(copy).digest != same.digest


def test_a_key_given_twice_is_an_error_with_its_place() -> None:
    with pytest.raises(SpecError, match=r"f\.yaml: line 2, column 1: key `a` is given twice"):
        parse_yaml("a: 1\na: 2\n", "f.yaml")


def test_what_is_no_yaml_is_an_error_with_its_place() -> None:
    with pytest.raises(SpecError, match=r"line \d, column 1"):
        parse_yaml("a: [1", "f.yaml")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("schema: 1\nuse: []\nreadingz: []\n", 3),  # an unknown key
        ("schema: 1\nuse:\n- ckd\n- [no, text]\n", 4),  # an entry of a list
        ("use: []\nschema:\n  2\n", 2),
    ],
)
def test_what_does_not_fit_a_record_is_named_with_its_line(
    tmp_path: Path, text: str, line: int
) -> None:
    path = tmp_path / "notes.yaml"
    path.write_text(text)
    with pytest.raises(SpecError, match=rf"notes\.yaml, line {line}: `.*` is not valid"):
        read_yaml(path, Notes)


def test_dates_stay_text() -> None:
    assert parse_yaml("a: 2150-01-02", "f.yaml") == {"a": "2150-01-02"}


def test_an_unknown_key_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "notes.yaml"
    path.write_text("schema: 1\nreeding: []\n")
    with pytest.raises(SpecError, match="reeding"):
        read_yaml(path, Notes)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"none\.yaml"):
        read_yaml(tmp_path / "none.yaml", Notes)


def test_a_pipe_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "edits.yaml")
    with pytest.raises(SpecError, match="is no regular file") as told:
        read_text(tmp_path / "edits.yaml")
    assert "to a file" in told.value.remedy


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="UTF-8"):
        read_yaml(path, Notes)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("no front matter\n", "front matter"),
        ("---\nid: other\ntitle: T\nbody: B\nyear: 1\nsource: S\n---\ntext\n", "`other`"),
        ("---\nid: p\ntitle: T\nyear: 1\nsource: S\n---\ntext\n", "body"),
    ],
)
def test_a_policy_without_proper_front_matter_is_refused(
    tmp_path: Path, text: str, word: str
) -> None:
    path = tmp_path / "p.md"
    path.write_text(text)
    with pytest.raises(SpecError, match=word):
        read_policy(path)


def test_line_1_of_a_policy_is_the_first_after_the_front_matter(tmp_path: Path) -> None:
    path = tmp_path / "p.md"
    path.write_text("---\nid: p\ntitle: T\nbody: B\nyear: 2150\nsource: S\n---\none\ntwo\n")
    assert read_policy(path).lines == ("one", "two")


def test_an_unknown_prompt_is_refused() -> None:
    with pytest.raises(SpecError, match="no prompt"):
        prompt("nothing")


def test_validity_is_read_or_empty() -> None:
    assert validity().bar == pytest.approx(0.9)


def test_a_pipe_among_a_site_s_policies_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "zz.md")
    with pytest.raises(SpecError, match=r"zz\.md is no regular file"):
        corpus(tmp_path)
