"""Tables by what was changed: families, interventions, strata, no-ops, audits, books.

Source: Causal Sensitivity Score, Tables 1, 3–5, App. D, G, J, K.
"""

from collections import Counter
from collections.abc import Sequence

from chartproof.leaderboards import cells
from chartproof.leaderboards.entrants import (
    EDITIONS,
    FAMILIES,
    FEW,
    SOME,
    Entrant,
    made,
    of_pairs,
    signed,
)
from chartproof.metrics.rate import Rate
from chartproof.metrics.sensitivity import (
    Distribution,
    bookkeeping,
    css,
    css_by,
    css_macro,
    css_macro_interval,
    distribution,
    primary,
    vacuous,
)
from chartproof.metrics.specificity import matched_net
from chartproof.records.sensitivity import Edition, Pair
from chartproof.records.table import Cell, Table

NONE = "No pair of it was scored."
NO_CREDIT = "No packet failed an audit that the rule names: nothing could earn the credit."
NO_CREDIT_V1 = "The rule as published has no refusal credit."


def families(here: Sequence[Entrant]) -> Table:
    """What the families change, and how many case × intervention each has (Table 1)."""
    rows: list[tuple[Cell, ...]] = []
    for edition in EDITIONS:
        pairs = [pair for e in here for pair in e.of(edition)]
        for family in sorted({pair.family for pair in pairs}):
            of = [pair for pair in pairs if pair.family == family]
            book = bookkeeping(of)
            failed = {(p.case, p.intervention) for p in of if p.audits}
            rows.append((
                cells.words(family),
                cells.words(FAMILIES.get(family, "")),
                cells.words(edition),
                cells.count(len({pair.intervention for pair in of}), "interventions"),
                cells.count(book.eligible, "case × intervention"),
                cells.count(book.noop, "the edit left the packet as it was"),
                cells.count(book.scored, "asked of every system"),
                cells.count(len(failed), "the changed packet failed an audit"),
            ))  # fmt: skip
    return made(
        "board-families",
        "Families of changes",
        "case × intervention to which the catalogue applies",
        (
            *("Family", "What changes", "Edition", "Interventions", "Eligible", "No-op"),
            *("Asked", "Audits failed"),
        ),
        rows,
        notes=("Eligible = no-op + asked, in every line.",),
    )


def per_family(here: Sequence[Entrant], edition: Edition, draws: int) -> Table:
    """CSS of each family (Table 3), and the mean in which every family weighs the same."""
    by = {e.system: css_by(e.of(edition), lambda pair: pair.family) for e in here}
    names = sorted({family for found in by.values() for family in found})
    rows: list[tuple[Cell, ...]] = []
    for family in names:
        found = {system: rates.get(family, Rate(())) for system, rates in by.items()}
        most = max(rate.of for rate in found.values())
        # E of the paper has five cases: an interval over so few would only look like one.
        rows.append((
            cells.words(family, FAMILIES.get(family, "")),
            cells.count(most, "most scored pairs of a system"),
            *(of_pairs(r, NONE, draws=draws if r.of >= FEW else 0) for r in found.values()),
            _leader(found, FEW),
        ))  # fmt: skip
    macro: list[Cell] = []
    for e in here:
        value, count = css_macro(e.of(edition))
        interval = css_macro_interval(e.of(edition), draws=draws)
        macro.append(cells.share(value, f"mean over {count} families", interval, absent=NONE))
    rows.append((cells.words("macro"), cells.dash("A mean of means."), *macro, cells.dash("–")))
    return made(
        "board-css-families",
        "CSS by family",
        f"scored pairs of edition {edition}",
        ("Family", "n", *(e.system for e in here), "Leader"),
        rows,
        notes=(f"Below {FEW} pairs, no family has a leader or an interval.",),
    )


def interventions(here: Sequence[Entrant], edition: Edition) -> Table:
    """CSS of each intervention."""
    by = {e.system: css_by(e.of(edition), lambda pair: pair.intervention) for e in here}
    names = sorted({each for found in by.values() for each in found})
    return made(
        "board-css-interventions",
        "CSS by intervention",
        f"scored pairs of edition {edition}",
        ("Intervention", "n", *by),
        [
            (
                cells.words(name),
                cells.count(max(rates[name].of for rates in by.values() if name in rates)),
                *(of_pairs(rates.get(name, Rate(())), NONE) for rates in by.values()),
            )
            for name in names
        ],
    )


def distribution_table(here: Sequence[Entrant], edition: Edition) -> Table:
    """Shares of 0, ½ and 1, and what the zeros did instead (Table 4)."""
    rows: list[tuple[Cell, ...]] = []
    for e in here:
        found = distribution(e.of(edition))
        rows.append((cells.words(e.system), cells.count(found.n), *_shares(found)))
    return made(
        "board-distribution",
        "Distribution of scores",
        f"scored pairs of edition {edition}",
        (
            *("System", "n", "Wrong 0", "Partial ½", "Correct 1", "0: unchanged"),
            *("0: opposite", "0: off target"),
        ),
        rows,
        notes=("CSS = (1 + correct − wrong) / 2, by the shares.",),
    )


def strata(here: Sequence[Entrant], edition: Edition) -> Table:
    """CSS of strata and cancers (Table 5, App. B)."""

    def groups(pair: Pair) -> Sequence[str]:
        return (*(f"stratum {each}" for each in pair.strata), f"cancer {pair.cancer}")

    by = {e.system: css_by(e.of(edition), groups) for e in here}
    names = sorted({each for found in by.values() for each in found}, reverse=True)
    rows: list[tuple[Cell, ...]] = []
    for name in names:
        found = {system: rates.get(name, Rate(())) for system, rates in by.items()}
        most = max(rate.of for rate in found.values())
        rows.append((
            cells.words(name),
            cells.count(most, "most scored pairs of a system"),
            *(of_pairs(rate, NONE) for rate in found.values()),
            _leader(found, SOME),
        ))  # fmt: skip
    return made(
        "board-strata",
        "CSS by stratum and cancer",
        f"scored pairs of edition {edition}; a case may be of several strata",
        ("Group", "n", *by, "Leader"),
        rows,
        notes=(f"Below {SOME} pairs, no group has a leader.",),
    )


def noops(here: Sequence[Entrant]) -> Table:
    """Edits that left the packet as it was (App. G)."""
    rows: list[tuple[Cell, ...]] = []
    for edition in EDITIONS:
        pairs = [pair for e in here for pair in e.of(edition)]
        for name in sorted({pair.intervention for pair in pairs}):
            of = [pair for pair in pairs if pair.intervention == name]
            book = bookkeeping(of)
            rows.append((
                cells.words(of[0].family),
                cells.words(name),
                cells.words(edition),
                cells.count(book.eligible),
                cells.count(book.noop),
                cells.count(book.scored),
            ))  # fmt: skip
    return made(
        "board-noops",
        "No-ops",
        "case × intervention to which the catalogue applies",
        ("Family", "Intervention", "Edition", "Eligible", "No-op", "Asked"),
        rows,
    )


def bookkeeping_table(here: Sequence[Entrant]) -> Table:
    """Where every row went: asked, scored, and the others by reason."""
    rows: list[tuple[Cell, ...]] = []
    for edition in EDITIONS:
        pairs = [pair for e in here for pair in e.of(edition)]
        if not pairs:
            continue
        book = bookkeeping(pairs)
        reasons = ", ".join(f"{reason} {n}" for reason, n in book.unscored.items())
        rows.append((
            cells.words(edition),
            cells.count(book.eligible),
            cells.count(book.noop),
            cells.count(book.scored),
            cells.count(book.systems),
            cells.count(book.rows_expected, f"{book.systems} systems × {book.scored}"),
            cells.count(book.rows_valid),
            cells.count(book.rows_expected - book.rows_valid),
            cells.words(reasons or "none"),
        ))  # fmt: skip
    return made(
        "board-books",
        "Bookkeeping",
        "case × intervention to which the catalogue applies; rows of all systems",
        (
            *("Edition", "Eligible", "No-op", "Asked", "Systems", "Rows expected", "Rows scored"),
            *("Not scored", "Why"),
        ),
        rows,
        notes=("What was not scored is never 0.",),
    )


def untroubled(here: Sequence[Entrant], edition: Edition) -> Table:
    """CSS with and without what is in question: audits, vacuous pairs (App. J)."""
    rows: list[tuple[Cell, ...]] = []
    for e in here:
        pairs = e.of(edition)
        coherent = [pair for pair in pairs if not pair.audits]
        d = [pair for pair in pairs if pair.family == "D"]
        failed = Counter(audit for pair in primary(pairs) for audit in pair.audits)
        rows.append((
            cells.words(e.system),
            of_pairs(css(pairs)),
            of_pairs(css(coherent), "Every scored pair failed an audit."),
            of_pairs(css(d), NONE),
            of_pairs(css([pair for pair in d if not pair.audits]), NONE),
            cells.count(len(vacuous(pairs)), "scored, and no evidence either way"),
            cells.words(", ".join(f"{k} {n}" for k, n in sorted(failed.items())) or "none"),
        ))  # fmt: skip
    return made(
        "board-coherent",
        "With and without pairs in question",
        f"scored pairs of edition {edition}",
        (
            *("System", "CSS", "Audits passed", "Family D", "D, audits passed"),
            *("Vacuous", "Audits failed"),
        ),
        rows,
    )


def refusals(here: Sequence[Entrant]) -> Table:
    """CSS without and with the refusal credit, of every edition that was scored (App. J)."""
    rows: list[tuple[Cell, ...]] = []
    for e in here:
        for edition in EDITIONS:
            pairs = e.of(edition)
            if not any(pair.score is not None for pair in pairs):
                continue
            open_to = [pair for pair in pairs if pair.refusal_credit is not None]
            earned = sum(pair.refusal_credit is True for pair in open_to)
            why = NO_CREDIT_V1 if edition == "v1" else NO_CREDIT
            rows.append((
                cells.words(e.system),
                cells.words(edition),
                of_pairs(css(pairs)),
                cells.count(len(open_to), "the packet failed an audit that the rule names"),
                cells.count(earned, "stayed as it was and named the conflict")
                if open_to else cells.dash(why),
                of_pairs(css(pairs, refusal_credit=True)) if open_to else cells.dash(why),
            ))  # fmt: skip
    return made(
        "board-refusals",
        "Refusal credit",
        "scored pairs of each edition; with credit, those too that rules score by it alone",
        ("System", "Edition", "CSS", "Open to it", "Credited", "CSS with credit"),
        rows,
        notes=(
            "½ where an audit found the packet incoherent, every recommendation stayed, and one "
            "sentence names the changed fact and a conflict. A plan deferred, and prose, are for "
            "others to judge. A rule of its own, never in another number.",
        ),
    )


def family_d(both: Sequence[Sequence[Entrant]], edition: Edition) -> Table:
    """How scores on operations shift from a single shot to an agent (App. D)."""
    rows: list[tuple[Cell, ...]] = []
    for e in (each for here in both for each in here):
        found = distribution([pair for pair in e.of(edition) if pair.family == "D"])
        rows.append((
            cells.words(e.system), cells.words(e.setting.replace("_", " ")),
            cells.count(found.n), *_shares(found)[:3],
        ))  # fmt: skip
    return made(
        "board-shift-d",
        "Distribution on family D by setting",
        f"scored pairs of edition {edition}, family D",
        ("System", "Setting", "n", "Wrong 0", "Partial ½", "Correct 1"),
        sorted(rows, key=lambda row: (row[0].text, row[1].text)),
    )


def family_e(here: Sequence[Entrant], edition: Edition) -> Table:
    """The family with the fewest cases, as counts (App. K)."""
    rows: list[tuple[Cell, ...]] = []
    for e in here:
        found = distribution([pair for pair in e.of(edition) if pair.family == "E"])
        counts = (found.n, found.wrong, found.partial, found.correct)
        rate = css([pair for pair in e.of(edition) if pair.family == "E"])
        rows.append((cells.words(e.system), *map(cells.count, counts), of_pairs(rate, NONE)))
    return made(
        "board-family-e",
        "Family E",
        f"scored pairs of edition {edition}, family E",
        ("System", "n", "Wrong 0", "Partial ½", "Correct 1", "CSS"),
        rows,
    )


def family_net(here: Sequence[Entrant], edition: Edition) -> Table:
    """J dir of each family, against placebos that change the text alike."""
    rows: list[tuple[Cell, ...]] = []
    absent = "No placebo changes a text in this way and by about as many characters."
    for e in here:
        for family, found in matched_net(e.beside(edition)).items():
            edits = f"of {found.edits} edits without audit findings"
            rows.append((
                cells.words(e.system),
                cells.words(family, FAMILIES.get(family, "")),
                cells.count(found.edits, "edits without audit findings"),
                cells.count(found.css.of, f"{edits}, those with such a placebo"),
                cells.count(found.placebos, "different placebo pairs"),
                of_pairs(found.css, absent),
                cells.share(found.false_alarm, "mean over the edits of the mean movement on their "
                            "placebos", None, absent=absent),
                signed(found.j_directed, f"CSS less F placebo over {found.css.of} {edits}",
                       absent=absent),
            ))  # fmt: skip
    return made(
        "board-family-net",
        "J dir by family, against placebos of the same kind and length",
        f"edits of edition {edition} without audit findings that have such a placebo",
        ("System", "Family", "Edits", "Matched", "Placebos", "CSS", "F placebo", "J dir"),
        rows,
        notes=(
            "Alike: an insertion beside insertions, a deletion beside deletions, a replacement "
            "beside replacements, of at least half and at most twice as many changed characters; "
            "placebos of all cases. Edits without one are in no mean.",
        ),
    )


def _shares(found: Distribution) -> tuple[Cell, ...]:
    counts = (
        *(found.wrong, found.partial, found.correct),
        *(found.unchanged, found.opposite, found.off_target),
    )
    return tuple(
        cells.share(n / found.n if found.n else None, f"{n} of {found.n} pairs", None, absent=NONE)
        for n in counts
    )


def _leader(found: dict[str, Rate], least: int) -> Cell:
    """Who is first, where there is enough to say so; several where they are alike."""
    values = {system: rate.value for system, rate in found.items() if rate.value is not None}
    if len(values) < 2 or min(found[system].of for system in values) < least:
        return cells.dash(f"Fewer than two systems, or than {least} pairs of one.")
    best = max(value for value in values.values())
    return cells.words(", ".join(system for system, value in values.items() if value == best))
