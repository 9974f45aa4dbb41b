"""Static pages: the leaderboard, the cases, and every run with its trace and its report.

Below a home, `pages/<study>/` holds one study whole. `index.html` is the first page of the only
study, or the list of several.

No page runs a script or loads anything from elsewhere. Pages of credentialed data show references
without values or text unless that is asked for, and are then stamped.
"""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from chartproof.explorer.citations import PolicyPage, anchor, render
from chartproof.leaderboards.html import fragment
from chartproof.records.case import FACTUAL, Case
from chartproof.records.cell import CellInfo
from chartproof.records.grade import Grade
from chartproof.records.label import Label
from chartproof.records.policy import Policy
from chartproof.records.report import Report
from chartproof.records.scenario import Scenario
from chartproof.records.store import Tier
from chartproof.records.table import Table
from chartproof.records.trace import Trace
from chartproof.records.verdict import Verdict

PAGES = "pages"
"""Folder of all pages but the first. A home has folders `runs` and `cases` of its own."""
FIRST = "index.html"


@dataclass(frozen=True)
class RunView:
    """One run, as its page needs it."""

    cell: CellInfo
    trace: Trace
    report: Report | None
    grades: tuple[Grade, ...]
    policies: Mapping[str, Policy]
    """The corpus that the run read."""

    @property
    def page(self) -> str:
        """Path of its page below the study's."""
        cell = self.cell
        return f"runs/{cell.system}/{cell.case}-{cell.arm}-{cell.attempt}.html"


@dataclass(frozen=True)
class CaseView:
    """One case with its question and its reference."""

    case: Case
    question: str
    scenario: Scenario
    labels: tuple[Label, ...]

    @property
    def page(self) -> str:
        """Path of its page below the study's."""
        return f"cases/{self.case.id}.html"


@dataclass(frozen=True)
class PairView:
    """A run on a case as it stands, and the same system's on a counterfactual arm of it.

    Attributes:
        due: The reference of the case as it stands.
        then: That of the other arm.
    """

    factual: RunView
    twin: RunView
    due: Verdict
    then: Verdict

    @property
    def must_flip(self) -> bool:
        """Whether the references differ."""
        return self.due != self.then


class _Shelf:
    """The policy documents that the runs of a study read, each with the name of its page."""

    def __init__(self) -> None:
        self._pages: dict[tuple[str, str], tuple[Policy, str]] = {}
        self._names: set[str] = set()

    def page(self, policy: Policy) -> str:
        """Its id; of a document that other runs read in another version, with its digest."""
        key = (policy.id, policy.digest)
        if key not in self._pages:
            taken = policy.id in self._names
            name = f"{policy.id}-{policy.digest[:12]}" if taken else policy.id
            self._names.add(name)
            self._pages[key] = (policy, name)
        return self._pages[key][1]

    def pages(self) -> list[tuple[Policy, str]]:
        """All of them, by name of their page."""
        return sorted(self._pages.values(), key=lambda each: each[1])


@dataclass(frozen=True)
class Site:
    """All that the pages of one study show.

    Attributes:
        study: Its id, the name of its folder.
        tables: In the order in which the first page shows them.
        tier: Inherited from the store.
        with_patient_text: Whether values and text of credentialed data may be shown.
        notes: Sentences that a reader must know before the numbers.
    """

    study: str
    title: str
    tier: Tier
    tables: Sequence[Table]
    cases: Mapping[str, CaseView]
    notes: Sequence[str] = ()
    with_patient_text: bool = False

    @property
    def hides_values(self) -> bool:
        """Whether only references may be shown."""
        return self.tier == "credentialed" and not self.with_patient_text

    def write(self, home: Path, runs: Iterable[RunView]) -> Path:
        """Write all pages of the study below a home; returns the home's first, `index.html`."""
        out = home / PAGES / self.study
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        with as_file(files("chartproof.explorer") / "templates" / "style.css") as style:
            shutil.copyfile(style, out / "style.css")
        links: dict[str, list[RunView]] = {}
        shelf = _Shelf()
        for view in runs:
            links.setdefault(view.cell.case, []).append(
                RunView(view.cell, Trace(events=()), view.report, (), {})
            )
            self._run(out, view, shelf)
        for case in self.cases.values():
            of = links.get(case.case.id, [])
            pairs = _pairs(case, of)
            self._page(out, case.page, "case.html", case=case, runs=of, pairs=pairs)
        for policy, page in shelf.pages():
            self._page(out, f"policies/{page}.html", "policy.html", policy=policy)
        first = {
            "tables": [(table, Markup(fragment(table))) for table in self.tables],
            "cases": self.cases.values(),
            "runs": links,
            "arms": {case: {view.cell.arm for view in of} for case, of in links.items()},
            "policies": shelf.pages(),
        }
        self._page(out, FIRST, "index.html", **first)
        known = sorted(page.parent.name for page in (home / PAGES).glob(f"*/{FIRST}"))
        if known == [self.study]:
            page = self._render("index.html", f"{PAGES}/{self.study}/", FIRST, **first)
        else:
            page = self._render("studies.html", f"{PAGES}/{self.study}/", FIRST, studies=known)
        (home / FIRST).write_text(page, encoding="utf-8")
        return home / FIRST

    def _run(self, out: Path, view: RunView, shelf: "_Shelf") -> None:
        ids: set[str] = set()
        calls: list[dict[str, Any]] = []
        for call in view.trace.calls:
            rows: list[dict[str, Any]] = []
            for row in call.answer.rows:
                spots = [anchor(row.ref), anchor(row.ref.split(" ")[0])]
                fresh = [spot for spot in dict.fromkeys(spots) if spot not in ids]
                ids.update(fresh)
                cells = [] if self.hides_values else [row.cells.get(c) for c in call.answer.columns]
                rows.append({"ref": row.ref, "ids": fresh, "cells": cells})
            ids.add(f"call-{call.call}")
            calls.append({"call": call, "rows": rows})
        text = view.trace.report
        body = ""
        if text is not None and not self.hides_values:
            body = render(
                text,
                on_page=ids,
                policies={
                    name: PolicyPage(shelf.page(policy), len(policy.lines))
                    for name, policy in view.policies.items()
                },
                policy_root="../../policies",
            )
        case = self.cases[view.cell.case]
        criteria = {
            each.id: each.text
            for each in (
                *case.scenario.must_do,
                *case.scenario.must_not,
                *case.scenario.required_findings,
            )
        }
        self._page(
            out,
            view.page,
            "run.html",
            view=view,
            case=case,
            label=next((x for x in case.labels if x.arm == view.cell.arm), None),
            calls=calls,
            body=Markup(body),
            criteria=criteria,
        )

    def _page(self, out: Path, path: str, template: str, **values: Any) -> None:
        target = out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        up = "../" * path.count("/")
        html = self._render(template, up, f"{up}../../{FIRST}", **values)
        target.write_text(html, encoding="utf-8")

    def _render(self, template: str, up: str, front: str, **values: Any) -> str:
        """A page. `up` leads from it to the study's folder, `front` to the home's first page."""
        page = self._templates.get_template(template)
        return page.render(site=self, up=up, front=front, **values)

    @cached_property
    def _templates(self) -> Environment:
        return Environment(
            loader=PackageLoader("chartproof.explorer"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )


def _pairs(case: CaseView, runs: Sequence[RunView]) -> list[PairView]:
    """Runs on counterfactual arms, each beside the one of the same attempt on the record."""
    due = {label.arm: label.verdict for label in case.labels}
    factual = {(v.cell.system, v.cell.attempt): v for v in runs if v.cell.arm == FACTUAL}
    found: list[PairView] = []
    for view in runs:
        first = factual.get((view.cell.system, view.cell.attempt))
        before, after = due.get(FACTUAL), due.get(view.cell.arm)
        if view.cell.arm != FACTUAL and first and before and after:
            found.append(PairView(first, view, before, after))
    return sorted(found, key=lambda pair: (pair.twin.cell.arm, pair.twin.cell.system))
