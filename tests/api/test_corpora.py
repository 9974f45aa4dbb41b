"""A site's own policy, from the file to the citation that leads to its line."""

import json
import shutil
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.api.test_traces import CASES, chartproof, folder, made  # noqa: F401

from chartproof import api
from chartproof.api.corpora import Astray, Corpora, astray, corpus_of
from chartproof.catalog.importing import Described
from chartproof.catalog.read import policies
from chartproof.errors import RunError, SpecError
from chartproof.explorer.citations import PolicyPage, render
from chartproof.judges.claims import resolves
from chartproof.records.cell import CellInfo
from chartproof.records.study import Study
from chartproof.reports.audit import parse
from chartproof.runs import cells
from chartproof.runs.errand import Errand
from chartproof.runs.run import Task, run
from chartproof.tools.trace import read

RULE = (
    "# Metformin and contrast\n\n## Rule\nMetformin pauses.\nIt pauses 48 h.\nThen look.\nGo on.\n"
)
REPORT = "Metformin was to pause for 48 h [policy: my-site L4-L7]. It did [policy: my-site L9]."


class Reader:
    """Searches, reads what it found, and cites it."""

    name = "reader"
    jail = "none"

    def digest(self) -> str:
        return "r"

    def answer(self, errand: Errand) -> str:
        call = errand.door.call
        found = call("policy_search", {"query": "metformin pauses"})
        assert "[policy: my-site L4]" in found
        call("policy_read", {"document": "my-site", "since_line": 4, "until_line": 8})
        return REPORT


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:  # noqa: F811
    copy = shutil.copytree(made, tmp_path / "home")
    shutil.rmtree(copy / "runs")
    (tmp_path / "My Site.md").write_text(RULE)
    said = Described(body="House", year="2150")
    api.add_policy(tmp_path / "My Site.md", copy / "policies", said)
    return copy


def ran(home: Path) -> tuple[Path, CellInfo]:
    task = Task(
        study="trial", system="caller", case=CASES[0], arm="factual", attempt=1, prompt="?",
        chart=home / "cases" / "charts" / "1.chart", folder=folder(home),
    )  # fmt: skip
    return task.folder, run(task, Reader(), corpus_of(home), clock=time.monotonic)


def test_a_site_policy_is_found_read_cited_and_kept(home: Path) -> None:
    place, cell = ran(home)
    assert cell.outcome == "reported"
    corpus = Corpora(policies()).read_by(place, cell)
    assert corpus["my-site"].site
    context = cast("Any", SimpleNamespace(policies=corpus))
    report = parse(read(place / cells.TRACE).report or "")
    assert [resolves(c, context) for claim in report.claims for c in claim.policies] == [
        True,
        False,
    ]
    pages = {name: PolicyPage(name, len(policy.lines)) for name, policy in corpus.items()}
    page = render(REPORT, on_page=(), policies=pages, policy_root="policies")
    assert '<a class="cite policy" href="policies/my-site.html#L4">' in page
    assert "it has 7 lines" in page
    (found,) = api.replay(home / "runs")
    assert found.identical


def test_the_policies_are_part_of_the_run(home: Path) -> None:
    _, cell = ran(home)
    path = home / "policies" / "my-site.md"
    path.write_text(path.read_text().replace("48 h", "72 h"))
    with pytest.raises(RunError, match="another policies"):
        ran(home)
    shutil.rmtree(home / "runs" / "trial" / "corpus")
    with pytest.raises(RunError, match="not kept"):
        Corpora(corpus_of(home)).read_by(folder(home), cell)


def test_another_folder_is_read_instead_of_the_homes(home: Path, tmp_path: Path) -> None:
    api.add_policy(
        tmp_path / "My Site.md", tmp_path / "p", Described(id="other", body="B", year="1")
    )
    assert "my-site" in corpus_of(home)
    assert set(corpus_of(home, tmp_path / "p")) - set(policies()) == {"other"}
    with pytest.raises(SpecError, match="no folder of policies"):
        corpus_of(home, tmp_path / "none")


def test_a_study_names_a_folder_of_policies() -> None:
    study = Study(id="s", cases="cases", systems=("careful",), policies="site")
    assert study.policies == "site"


@pytest.mark.parametrize(
    ("cited", "what"),
    [
        ("my-site", None),
        ("my-site L4-L7", None),
        ("my-site L7-L4", "names its lines backwards"),
        ("my-site L8", "names lines that my-site does not have: it has 7"),
        ("my-sight L1", "names `my-sight`, which is no policy"),
    ],
)
def test_a_citation_that_leads_nowhere_is_told(home: Path, cited: str, what: str | None) -> None:
    found = astray(f"One.\nTwo [policy: {cited}].\n", corpus_of(home))
    assert found == ([] if what is None else [Astray(2, f"policy: {cited}", what)])


def test_the_commands_add_list_show_and_lint(home: Path, tmp_path: Path) -> None:
    (tmp_path / "second.md").write_text("# Second\n![x](x.png)\n")
    shown = chartproof("policy", "add", tmp_path / "second.md", "--in", home, "--year", "2150")
    assert shown.returncode == 2
    assert "--body" in shown.stderr
    given = ("--in", home, "--year", "2150", "--body", "House")
    shown = chartproof("policy", "add", tmp_path / "second.md", *given)
    assert shown.returncode == 0, shown.stderr
    assert "[policy: second L1-L2]" in shown.stdout
    assert "picture" in shown.stdout
    account = json.loads((home / "policies" / "second.import.json").read_text())
    assert account["losses"][0]["kind"] == "picture"
    shown = chartproof("policy", "list", "--in", home)
    assert "2 of the site" in shown.stdout
    (tmp_path / "report.md").write_text(REPORT)
    shown = chartproof("policy", "lint", tmp_path / "report.md", "--in", home)
    assert shown.returncode == 1
    assert "line 1: [policy: my-site L9] names lines" in shown.stdout
    assert "L4    Metformin pauses." in chartproof("policy", "show", "my-site", "--in", home).stdout
