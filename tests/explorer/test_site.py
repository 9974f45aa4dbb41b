"""The pages of a small study: complete, linked, silent to the outside."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from chartproof import api
from chartproof.cases.build import load
from chartproof.explorer.site import CaseView, RunView, Site
from chartproof.records.case import CaseSet
from chartproof.records.cell import CellInfo
from chartproof.records.study import Study
from chartproof.records.trace import Event, Trace
from chartproof.tools.gateway import Gateway
from chartproof.tools.python import Shell


class Page(HTMLParser):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if found.get("id"):
            self.ids.add(str(found["id"]))
        if tag == "a" and found.get("href"):
            self.links.append(str(found["href"]))
        if found.get("src") or tag == "link":
            self.loads.append(str(found.get("src") or found.get("href")))


@pytest.fixture(scope="module")
def site(home: Path) -> Path:
    study = Study(id="pages", cases="cases", systems=("careful", "fabricator", "unready"))
    api.run(home, study, most=2, crew=api.Crew(2))
    page, _ = api.write_site(home, "pages", title="pages")
    return page.parent


def test_every_link_leads_to_a_page_and_a_place_that_exist(site: Path) -> None:
    pages = {path: Page(path) for path in [site / "index.html", *(site / "pages").rglob("*.html")]}
    assert len(pages) > 20
    for path, page in pages.items():
        for link in page.links:
            target, _, place = link.partition("#")
            other = (path.parent / target).resolve() if target else path
            assert other in pages or other.exists(), f"{path.name} → {link}"
            if place:
                assert place in pages[other].ids, f"{path.name} → {link}"


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    for path in (site / "pages").rglob("*.html"):
        assert all(load.endswith("style.css") for load in Page(path).loads)
        assert not re.search(r"<script", path.read_text(encoding="utf-8"))


def test_each_study_has_pages_of_its_own_and_no_leaderboard_counts_two(
    home: Path, site: Path
) -> None:
    api.run(home, Study(id="second", cases="cases", systems=("careful",)), most=1)
    page, second = api.write_site(home, "second")
    links = Page(page).links
    assert {"pages/pages/index.html", "pages/second/index.html"} <= set(links)
    assert (site / "pages/pages/runs/fabricator").is_dir()
    assert not (site / "pages/second/runs/fabricator").exists()
    assert [row[0].text for row in second[0].rows] == ["careful"]
    assert api.study_ids(home) == sorted({"pages", "second", *api.study_ids(home)})


def test_a_fabricated_citation_is_struck_out(site: Path) -> None:
    pages = list((site / "pages/pages/runs/fabricator").glob("*.html"))
    assert any('class="cite never"' in path.read_text(encoding="utf-8") for path in pages)
    careful = list((site / "pages/pages/runs/careful").glob("*.html"))
    assert not any('class="cite never"' in path.read_text(encoding="utf-8") for path in careful)


def test_a_program_is_shown_as_it_was_written_and_as_text(
    home: Path, tmp_path: Path, shell: Shell
) -> None:
    case = load(home / "cases").cases[0]
    events: list[Event] = []
    code = "print('<script>alert(1)</script>  two  spaces')\nopen('<b>.csv', 'w').write('x')"
    with api.Chart.open(home / "cases/charts" / case.charts["factual"]) as chart:
        Gateway(chart, {}, events.append, clock=None, shell=shell).call("python", {"code": code})
    cell = CellInfo(
        study="s", system="programmer", case=case.id, scenario=case.scenario, arm="factual",
        attempt=1, digests={}, digest="0", outcome="reported",
    )  # fmt: skip
    shown = CaseView(case, "?", api.scenario(case.scenario).scenario, ())
    for tier, with_text in (("synthetic", True), ("credentialed", False)):
        pages = Site("s", "s", tier, [], {case.id: shown})
        pages.write(tmp_path, [RunView(cell, Trace(events=tuple(events)), None, (), {})])
        view = RunView(cell, Trace(events=()), None, (), {})
        page = (tmp_path / "pages/s" / view.page).read_text()
        assert "<script" not in page
        assert 'id="call-1"' in page
        assert (
            "<pre>&lt;script&gt;alert(1)&lt;/script&gt;  two  spaces\n</pre>" in page
        ) == with_text
        assert ("left &lt;b&gt;.csv, 1 bytes, sha256 2d711642" in page) == with_text


def test_pages_of_credentialed_data_show_references_without_values(
    home: Path, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shut = load(home / "cases").model_copy(update={"tier": "credentialed"})
    monkeypatch.setattr("chartproof.api.steps.load", lambda _folder: shut)
    api.write_site(home, "pages")
    run = next((home / "pages/pages/runs/careful").glob("post-ct-aki*.html")).read_text("utf-8")
    assert "labevents:" in run
    assert "mg/dL" not in run
    assert isinstance(shut, CaseSet)
    api.write_site(home, "pages", with_patient_text=True)
    run = next((home / "pages/pages/runs/careful").glob("post-ct-aki*.html")).read_text("utf-8")
    assert "contains patient text" in run
    assert "mg/dL" in run
