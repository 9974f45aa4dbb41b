"""What holds of every document of the shipped corpus, and of the corpus as a whole."""

import hashlib
import re
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from chartproof.catalog.read import ROOT, policies, read_policy, scenario, scenario_ids
from chartproof.errors import SpecError
from chartproof.records.policy import Policy
from chartproof.tools.corpus import Corpus
from chartproof.tools.policy import (
    LISTED,
    PolicyList,
    PolicyRead,
    PolicySearch,
    policy_list,
    policy_read,
    policy_search,
)
from chartproof.tools.render import PAGE

PLANNED = yaml.safe_load(
    (Path(__file__).parent / "planned_scenarios.yaml").read_text(encoding="utf-8")
)
SHIPPED = Corpus(policies())
GOVERNS_NOTHING = {each.id for each in policies().values() if "governs nothing" in each.status}


class Asked(NamedTuple):
    """A scenario as somebody would look for its standards."""

    title: str
    governing: set[str]


def asked() -> dict[str, Asked]:
    planned = {id_: Asked(each["title"], set(each["governing"])) for id_, each in PLANNED.items()}
    made = {id_: scenario(id_).scenario for id_ in scenario_ids()}
    return planned | {id_: Asked(each.title, set(each.governing)) for id_, each in made.items()}


def content(policy: Policy) -> list[str]:
    return [line for line in policy.lines if line.strip() and not line.startswith("#")]


def test_the_corpus_holds_44_documents_that_govern_and_12_or_more_that_do_not() -> None:
    governing = set[str]().union(*(set(each["governing"]) for each in PLANNED.values()))
    assert len(PLANNED) == 25
    assert len(governing) == 44
    assert set(policies()) - GOVERNS_NOTHING == governing
    assert len(GOVERNS_NOTHING) >= 12


def test_every_governing_document_of_every_scenario_is_there_and_governs() -> None:
    for id_, each in asked().items():
        assert each.governing, id_
        assert each.governing <= set(policies()) - GOVERNS_NOTHING, id_


@pytest.mark.parametrize("policy", policies().values(), ids=policies())
def test_a_document_is_long_enough_to_be_searched_and_short_enough_to_be_read(
    policy: Policy,
) -> None:
    lines = content(policy)
    assert len(lines) >= 60
    assert len(lines) == len(set(lines)), "a sentence stands twice"
    assert len(policy.lines) <= PAGE, "it is read on one page"
    assert max(map(len, policy.lines)) < 200
    assert len(policy.sections) >= 8
    assert all(line == line.strip() for line in policy.lines)


@pytest.mark.parametrize("policy", policies().values(), ids=policies())
def test_a_document_says_at_its_head_what_it_is(policy: Policy) -> None:
    head = " ".join(policy.lines[:4])
    assert re.search(r"digest|institutional|laboratory guide|rules|superseded", head, re.IGNORECASE)
    assert policy.status
    assert len(policy.source) > 40
    if policy.body.startswith("chartproof benchmark"):
        assert "Written for this benchmark" in policy.source
    else:
        assert "igest" in policy.source
        assert "igest" in policy.status


def test_what_governs_marks_the_choices_of_the_benchmark() -> None:
    # the digest of a regulation adds none
    for id_ in set(policies()) - GOVERNS_NOTHING - {"cms-discharge-cop-482-43"}:
        assert any("[op]" in line for line in policies()[id_].lines), id_


@pytest.mark.parametrize("id_", sorted(GOVERNS_NOTHING))
def test_that_a_document_governs_nothing_can_be_read_in_it_and_stands_in_no_listing(
    id_: str,
) -> None:
    policy = policies()[id_]
    head = " ".join(policy.lines[:12])
    if "superseded" in policy.status:
        assert re.search(r"superseded", head, re.IGNORECASE)
    else:
        other = r"not covered|another|not (?:for|the|about|acute)|no longer|does not|do not|and not"
        assert re.search(other, head, re.IGNORECASE)
    answers = (
        policy_list(SHIPPED, PolicyList(page=1 + sorted(policies()).index(id_) // LISTED)),
        policy_read(SHIPPED, PolicyRead(document=id_)),
        policy_search(SHIPPED, PolicySearch(query=policy.title)),
    )
    for answer in answers:
        told = " ".join(str(row.cells) for row in answer.rows) + " ".join(answer.notes)
        assert "governs nothing" not in told
        assert policy.source not in told
        assert policy.status not in told


def test_no_heading_that_a_list_shows_is_of_documents_that_govern_alone() -> None:
    def headed(start: str) -> set[str]:
        return {
            id_
            for id_, policy in policies().items()
            if any(section.title.startswith(start) for section in policy.sections)
        }

    for start in ("Provisions of the audit", "1. Scope", "Terms"):
        assert headed(start) & GOVERNS_NOTHING, start
        assert headed(start) - GOVERNS_NOTHING, start


def test_titles_and_texts_are_of_one_document_each() -> None:
    titles = [each.title for each in policies().values()]
    assert len(titles) == len(set(titles))
    digests = [each.digest for each in policies().values()]
    assert len(digests) == len(set(digests))


def test_a_digest_is_that_of_the_bytes_wherever_they_lie(tmp_path: Path) -> None:
    for id_, policy in policies().items():
        file = ROOT / "policies" / f"{id_}.md"
        assert policy.digest == hashlib.sha256(file.read_bytes()).hexdigest()
        assert b"\r" not in file.read_bytes()
    copied = tmp_path / "kdigo-aki-2012.md"
    shutil.copyfile(ROOT / "policies" / copied.name, copied)
    assert read_policy(copied).digest == policies()["kdigo-aki-2012"].digest


def test_lines_that_were_cited_before_the_corpus_grew_say_what_they_said() -> None:
    lines = policies()["kdigo-aki-2012"].lines
    assert "at least 0.3 mg/dL" in lines[12]
    assert lines[14].startswith("(c) urine output")
    assert policies()["tjc-npsg-03-06-01"].lines[26].startswith("Or a time-limited antibiotic")
    assert policies()["imaging-receipt-protocol"].lines[19].startswith("A confirming report is")


def test_by_its_title_a_scenario_finds_what_governs_it_first_in_at_most_60_of_100() -> None:
    first = {
        id_: SHIPPED.search(each.title, 1).hits[0].document in each.governing
        for id_, each in asked().items()
    }
    assert len(first) >= 25
    assert 0.2 <= sum(first.values()) / len(first) <= 0.6, first


def test_what_governs_a_scenario_is_found_by_its_title_if_one_reads_on() -> None:
    for id_, each in asked().items():
        found = {hit.document for hit in SHIPPED.search(each.title, 120).hits}
        assert each.governing & found, id_


def test_a_site_says_what_its_document_is_or_leaves_it_out_and_no_key_is_invented(
    tmp_path: Path,
) -> None:
    front = {"id": "x", "title": "t", "body": "b", "year": "2020", "source": "s"}

    def read(**more: str) -> Policy:
        file = tmp_path / "x.md"
        file.write_text(f"---\n{yaml.safe_dump(front | more)}---\nline\n", encoding="utf-8")
        return read_policy(file, site=True)

    assert read().status == ""
    assert read(status="digest").status == "digest"
    with pytest.raises(SpecError, match="unknown key `governs`"):
        read(governs="nothing")
