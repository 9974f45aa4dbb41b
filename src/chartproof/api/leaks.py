"""Whether the way in which cases are made tells their answers.

A recipe may plant only what its rule reads. If the rest of the chart differs between recipes as
well, a system can score by the habits of the hospital instead of the facts. So two small
classifiers get nothing but what the rules do not read, on patients that they have not seen.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
from numpy.typing import NDArray

from chartproof.api.stores import Stage, build_store
from chartproof.cases.build import planted_in
from chartproof.catalog.read import ScenarioFolder
from chartproof.chart.schema import TableSpec, tables
from chartproof.chart.store import Store
from chartproof.errors import SpecError
from chartproof.hospital.source import SyntheticSource
from chartproof.records.recipe import Planted
from chartproof.records.table import Cell, Table

FOLDS: Final = 5
MARGIN: Final = 0.05
"""How far a classifier may come above the majority class."""
SEEN: Final = 0.02
"""Share of the charts that have to hold an item before it is a feature."""
TELLING: Final = 3
"""How many features are named."""
_ITEMS: Final = "itemid"


@dataclass(frozen=True)
class Unread:
    """What a scenario's rules do not look at.

    Attributes:
        tables: Tables of patients that neither `facts.sql`, a fact, an anchor nor a reading names.
        items: Tables that they do read, of items: name and the items that they look for.
    """

    tables: tuple[TableSpec, ...]
    items: dict[str, frozenset[int]]


@dataclass(frozen=True)
class Features:
    """One row a case.

    Attributes:
        names: Of the columns.
        cells: `(cases, names)`; NaN where a chart holds no number.
    """

    names: tuple[str, ...]
    cells: NDArray[np.float64]


def leaks(
    home: Path, asked: Sequence[ScenarioFolder], *, charts: int, seed: int, stage: Stage
) -> Table:
    """Plant fresh charts of each scenario and try to tell their verdicts from what is not read.

    Args:
        home: A store of each scenario is built below it.
        asked: Scenarios with recipes.
        charts: How many of each, about: every recipe is planted equally often.
        seed: Of the hospitals and of the folds.
        stage: Shows progress.

    Returns:
        A row a scenario: verdicts, majority class, accuracy of a logistic regression and of small
        boosted trees (mean over five folds), the larger of the two less the majority, and the
        features that tell most.

    Raises:
        SpecError: scikit-learn is not installed, a scenario has no recipes, or one verdict alone.
    """
    _needed()
    rows = [_row(home / each.id, each, charts=charts, seed=seed, stage=stage) for each in asked]
    return Table(
        id="leaks",
        title="Do recipes tell the verdict beside what the rules read?",
        population=f"{charts} fresh charts a scenario or a few more, seed {seed}, {FOLDS} folds",
        columns=("scenario", "charts", "verdicts", "features", "majority", "logistic", "trees",
                 "above", "most telling"),
        rows=tuple(rows),
        notes=(
            "Features: numbers of rows of tables that the rules do not read; of tables of items, "
            "number and mean of each item that they do not look for. above: the better classifier "
            f"less the majority class; at most {MARGIN:.2f} is asked for.",
        ),
    )  # fmt: skip


def leaking(table: Table) -> list[str]:
    """The scenarios whose recipes tell too much."""
    at = table.columns.index("above")
    return [row[0].text for row in table.rows if (row[at].value or 0) > MARGIN]


def _needed() -> None:
    if find_spec("sklearn") is None:
        raise SpecError(
            "The search for leaks needs scikit-learn.",
            remedy="Install the extra, in the checkout: pip install -e .[workbench]",
        )


def _row(
    home: Path, folder: ScenarioFolder, *, charts: int, seed: int, stage: Stage
) -> tuple[Cell, ...]:
    recipes = folder.recipes
    if recipes is None:
        raise SpecError(f"{folder.id} has no recipes.yaml.", remedy="Write one recipe a rule.")
    times = math.ceil(charts / len(recipes.recipes))
    source = SyntheticSource(patients=0, seed=seed, per_rule=0, per_recipe=times, recipes=[recipes])
    build_store(source, home, stage)
    store = Store.open(home / "store")
    planted = planted_in(store)
    verdict_of = {rule.id: rule.verdict.value for rule in folder.scenario.rules}
    verdicts = np.array([verdict_of[each.rule] for each in planted])
    counts = np.unique(verdicts, return_counts=True)[1]
    if len(counts) < 2 or counts.min() < FOLDS:
        raise SpecError(
            f"{folder.id}: {len(counts)} verdicts among {len(planted)} charts, the rarest "
            f"{counts.min()} times.",
            remedy=f"Ask for more charts: each verdict is needed {FOLDS} times.",
        )
    features = gather(store, planted, unread(folder))
    majority = counts.max() / len(planted)
    logistic, trees = accuracies(features, verdicts, seed=seed)
    above = max(logistic, trees) - majority
    return (
        Cell(text=folder.id),
        Cell(text=str(len(planted)), value=len(planted)),
        Cell(text=str(len(counts)), value=len(counts)),
        Cell(text=str(len(features.names)), value=len(features.names)),
        *(Cell(text=f"{value:.2f}", value=value) for value in (majority, logistic, trees)),
        Cell(text=f"{above:+.2f}", value=above),
        Cell(text=", ".join(telling(features, verdicts, seed=seed))),
    )


def unread(folder: ScenarioFolder) -> Unread:
    """What the rules of a scenario leave alone: what none of its files names."""
    scenario = folder.scenario
    written = " ".join((folder.facts_sql, *scenario.anchors.values()))
    named = {*re.findall(r"\w+", written)}
    read = {name for name in tables() if name in named}
    read |= {name for fact in scenario.facts for name in fact.tables}
    items = frozenset(int(each) for each in named if each.isdigit())
    return Unread(
        tables=tuple(
            each for each in tables().values() if each.per_patient and each.name not in read
        ),
        items={name: items for name in sorted(read) if _itemed(tables()[name])},
    )


def _itemed(table: TableSpec) -> bool:
    return table.per_patient and _ITEMS in table.columns


def gather(store: Store, planted: Sequence[Planted], left: Unread) -> Features:
    """The features of every planted patient, from the rows of a store."""
    place = {each.subject_id: n for n, each in enumerate(planted)}
    names: list[str] = []
    columns: list[NDArray[np.float64]] = []
    with store.connect() as db:
        for name, subject, value in _measured(db, store, left, len(planted)):
            column = np.full(len(planted), np.nan if name.endswith(" mean") else 0.0)
            for each, number in zip(subject, value, strict=True):
                if each in place:
                    column[place[each]] = number
            names.append(name)
            columns.append(column)
    if not columns:
        raise SpecError("The rules read every table.", remedy="There is nothing to search.")
    return Features(tuple(names), np.column_stack(columns))


def _measured(
    db: duckdb.DuckDBPyConnection, store: Store, left: Unread, charts: int
) -> Iterator[tuple[str, list[int], list[float]]]:
    """Name, patients and their values, feature by feature."""
    for table in left.tables:
        found = db.execute(
            f"select subject_id, count(*) from {store.relation(table.name)} group by 1"
        ).fetchall()
        yield f"{table.name} rows", [s for s, _ in found], [float(n) for _, n in found]
    itemed = {each.name: frozenset[int]() for each in left.tables if _itemed(each)} | left.items
    for name, looked_for in itemed.items():
        mean = "avg(valuenum)" if "valuenum" in tables()[name].columns else "null"
        found = db.execute(
            "select itemid, list(subject_id), list(n), list(mean) from (select itemid, subject_id, "
            f"count(*)::double as n, {mean}::double as mean from {store.relation(name)} "
            "where itemid is not null and not list_contains($items, itemid) "
            "group by all) group by itemid having count(*) >= $least order by itemid",
            {"items": sorted(looked_for), "least": SEEN * charts},
        ).fetchall()
        for item, subjects, numbers, means in found:
            yield f"{name} {item} rows", subjects, numbers
            told = [(s, m) for s, m in zip(subjects, means, strict=True) if m is not None]
            if told:
                yield f"{name} {item} mean", [s for s, _ in told], [m for _, m in told]


def accuracies(features: Features, verdicts: NDArray[np.str_], *, seed: int) -> tuple[float, float]:
    """Share of right verdicts on charts not learnt from: logistic regression, boosted trees."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from threadpoolctl import threadpool_limits

    parts = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    models: tuple[Any, ...] = (
        make_pipeline(
            SimpleImputer(strategy="median", keep_empty_features=True),
            StandardScaler(),
            LogisticRegression(C=0.05, max_iter=2000),
        ),
        HistGradientBoostingClassifier(max_depth=3, max_iter=60, random_state=seed),
    )
    # a table of this size is fitted in seconds by one thread; several wait for one another
    with threadpool_limits(1):
        logistic, trees = (
            float(cross_val_score(model, features.cells, verdicts, cv=parts).mean())
            for model in models
        )
    return logistic, trees


def telling(features: Features, verdicts: NDArray[np.str_], *, seed: int) -> list[str]:
    """The features that have most to do with the verdict, by mutual information."""
    from sklearn.feature_selection import mutual_info_classif

    filled = np.nan_to_num(features.cells, nan=-1.0)
    worth = mutual_info_classif(filled, verdicts, random_state=seed)
    return [features.names[n] for n in np.argsort(-worth)[:TELLING]]
