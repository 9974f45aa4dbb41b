"""All tables of a tumour-board study, from its pairs and the coverage of its original answers.

Source: Causal Sensitivity Score, Tables 2–5, App. B–K; the tables of specificity, editions and
ladders are ours. Every number is computed here from rows; nothing is handed on as text.
"""

from collections.abc import Mapping, Sequence

from chartproof.leaderboards import cells
from chartproof.leaderboards.changes import (
    bookkeeping_table,
    distribution_table,
    families,
    family_d,
    family_e,
    family_net,
    interventions,
    noops,
    per_family,
    refusals,
    strata,
    untroubled,
)
from chartproof.leaderboards.entrants import (
    SETTINGS,
    Entrant,
    edition_of,
    entrants,
    made,
    number,
    of_pairs,
    p_value,
    signed,
)
from chartproof.leaderboards.settings import (
    Climbs,
    Sections,
    calls,
    compute,
    editions,
    evidence_table,
    ladder_table,
    reach,
    round_trip_table,
    tool_effect,
    transitions,
)
from chartproof.metrics.coverage import EMPTY, Empty, cms, recall, with_empty_category
from chartproof.metrics.interval import DRAWS
from chartproof.metrics.ranks import rank_agreement, rank_draws, ranks, share_reversed
from chartproof.metrics.rate import Rate
from chartproof.metrics.sensitivity import css
from chartproof.metrics.specificity import (
    Specificity,
    active_against_placebo,
    specificity,
    specificity_intervals,
)
from chartproof.records.sensitivity import Coverage, Edition, Pair, Spent
from chartproof.records.table import Cell, Table

NO_PLACEBO = "No placebo was answered."
NO_CMS = "No answer could be compared with a consensus."


def tables(
    pairs: Sequence[Pair],
    coverage: Sequence[Coverage],
    *,
    climbs: Climbs | None = None,
    inverses: Mapping[str, str] | None = None,
    sections: Sections | None = None,
    spent: Sequence[Spent] = (),
    draws: int = DRAWS,
) -> list[Table]:
    """The tables of a study; the headline of each setting first.

    Args:
        pairs: Of any systems, settings, editions and changes.
        coverage: Of the original answers.
        climbs: At which steps of ladders the plan must change.
        inverses: Entry → the one that undoes it.
        sections: System → section → calls of it by agents.
        spent: What each run took.
        draws: Resamples of each interval.
    """
    found: list[Table] = []
    for setting in SETTINGS:
        here = entrants(pairs, coverage, setting)
        if not here:
            continue
        suffix = "" if setting == "single_shot" else f"-{setting}"
        made_here = _of_setting(here, climbs or Climbs(), inverses or {}, draws)
        where = f" ({setting.replace('_', ' ')})"
        found += [
            table.model_copy(update={"id": table.id + suffix, "title": table.title + where})
            for table in made_here
        ]
    both = [(entrants(pairs, coverage, s)) for s in SETTINGS]
    edition = edition_of(pairs)
    if all(both) and edition is not None:
        found += [
            tool_effect(both[0], both[1], edition, draws),
            transitions(both[0], both[1], edition),
            family_d(both, edition),
        ]
    if sections:
        found.append(calls(sections))
    if spent:
        found.append(compute(spent, pairs, SETTINGS))
    return found


def _of_setting(
    here: Sequence[Entrant],
    climbs: Climbs,
    inverses: Mapping[str, str],
    draws: int,
) -> list[Table]:
    pairs = [pair for entrant in here for pair in entrant.pairs]
    edition = edition_of(pairs)
    found: list[Table] = []
    if edition is not None:
        found = [
            headline(here, edition, draws=draws),
            agreement_of_ranks(here, edition, draws=draws),
            specificity_table(here, edition),
            family_net(here, edition),
            editions(here, draws),
            per_family(here, edition, draws),
            interventions(here, edition),
            distribution_table(here, edition),
            strata(here, edition),
            untroubled(here, edition),
            refusals(here),
            family_e(here, edition),
            reach(here, edition),
        ]
    if any(entrant.coverage for entrant in here):
        found.append(coverage_table(here))
    if any(pair.change == "active" for pair in pairs):
        found += [families(here), noops(here), bookkeeping_table(here)]
    if any(pair.change == "ladder" for pair in pairs):
        found.append(ladder_table(here, climbs))
    if any(pair.change == "evidence" for pair in pairs):
        found.append(evidence_table(here))
    if edition is not None and any(pair.change == "round_trip" for pair in pairs):
        found.append(round_trip_table(here, edition, inverses))
    return found


def headline(here: Sequence[Entrant], edition: Edition, *, draws: int = DRAWS) -> Table:
    """CMS and CSS with ranks, and what CSS alone does not see: specificity and J_dir."""
    sensitivity = {e.system: css(e.of(edition)) for e in here}
    coverage = {e.system: cms(e.coverage) for e in here}
    by_css, by_cms = _ranked(sensitivity), _ranked(coverage)
    rows: list[tuple[Cell, ...]] = []
    for e in here:
        found = specificity(e.beside(edition))
        spread = specificity_intervals(e.beside(edition), draws=draws)
        rows.append((
            cells.words(e.system),
            cells.rate(coverage[e.system], NO_CMS, draws=draws, shown=True, what="answers"),
            _rank(by_cms.get(e.system)),
            of_pairs(sensitivity[e.system], draws=draws, shown=True),
            _rank(by_css.get(e.system)),
            _change(by_cms.get(e.system), by_css.get(e.system)),
            cells.share(found.csps, _behind(found.false_alarm, "placebo pairs"), spread.csps,
                        absent=NO_PLACEBO, shown=True),
            signed(found.j_directed, "CSS less false alarms, over edits without audit findings",
                   spread.j_directed, shown=True, absent=_no_j(found)),
            cells.count(sensitivity[e.system].of, "scored pairs"),
        ))  # fmt: skip
    return made(
        "board-headline",
        "Coverage, sensitivity and specificity",
        f"scored pairs of edition {edition}; original answers; placebo pairs",
        ("System", "CMS", "CMS rank", "CSS", "CSS rank", "Rank change", "CSpS", "J dir", "n"),
        rows,
        notes=(
            "CMS: empty categories renormalised, mean over cases; where no judge was asked of "
            "extras, that term is out.",
            "CSS: micro mean; CSpS: 1 less the movement on placebos; J dir: CSS less that "
            "movement. A system is to be trusted on all three.",
            "w beside an interval: Wilson's, for all cases came out alike; of J dir, all that "
            "Wilson's intervals of its two rates at 97.5 % leave open.",
        ),
    )


def agreement_of_ranks(here: Sequence[Entrant], edition: Edition, *, draws: int = DRAWS) -> Table:
    """Whether CMS and CSS rank alike, and how stable each system's ranks are over cases."""
    sensitivity = {e.system: css(e.of(edition)) for e in here}
    shared = {s: r for s, r in sensitivity.items() if r.value is not None}
    both = [e.system for e in here if e.system in shared and cms(e.coverage).value is not None]
    coverage = {e.system: cms(e.coverage) for e in here if e.system in both}
    found = rank_agreement(
        [coverage[s].value or 0.0 for s in both], [shared[s].value or 0.0 for s in both]
    )
    rows: list[tuple[Cell, ...]] = []
    stability = rank_draws(shared, draws=draws)
    by_css = _ranked(shared)
    for system in shared:
        shares = stability.shares[system] if stability else {}
        likely = ", ".join(f"{rank:g}: {100 * share:.0f} %" for rank, share in shares.items())
        rows.append((
            cells.words(system),
            _rank(by_css.get(system)),
            number(stability.best(system) if stability else None, "share of draws alone at the top",
                   "One system or one case."),
            cells.words(likely or cells.DASH, "rank: share of case resamples"),
        ))  # fmt: skip
    notes: list[str] = []
    if found is None:
        notes.append("Fewer than three systems, or all alike: ranks of CMS and CSS not compared.")
    else:
        reversed_ = share_reversed(coverage, {s: shared[s] for s in both}, draws=draws)
        kind = "exact" if found.exact else "sampled"
        verdict = (
            f"no evidence of association at n = {found.n}"
            if found.p > 0.05
            else f"associated at n = {found.n}"
        )
        stable = "–" if reversed_ is None else f"{reversed_:.2f}"
        notes.append(
            f"CMS and CSS: Spearman {found.rho:.3f}, {kind} two-sided p {found.p:.3f}, Kendall "
            f"{found.tau:.3f}: {verdict}. Share of case resamples with a negative one: {stable}."
        )
    return made(
        "board-ranks",
        "Ranks over cases",
        f"scored pairs of edition {edition}, cases resampled for all systems together",
        ("System", "CSS rank", "Alone first", "Ranks"),
        rows,
        notes=notes,
    )


def specificity_table(here: Sequence[Entrant], edition: Edition) -> Table:
    """Everything about movement without a cause."""
    rows: list[tuple[Cell, ...]] = []
    for e in here:
        pairs = e.beside(edition)
        found, against = specificity(pairs), active_against_placebo(pairs)
        compared = against.both + against.only_active + against.only_placebo + against.neither
        z = "log-linear (k + ½) / (n + 1)"
        rows.append((
            cells.words(e.system),
            of_pairs(found.noise, "No replicate was answered."),
            of_pairs(found.false_alarm, NO_PLACEBO),
            of_pairs(found.hard, "No hard placebo was answered."),
            number(found.csps, "1 − F placebo", NO_PLACEBO),
            number(found.beyond_noise, "beyond the noise of replicates",
                   "No replicate or no placebo was answered."),
            of_pairs(found.hit, "No edit without audit findings was scored."),
            of_pairs(found.css, "No edit without audit findings was scored."),
            signed(found.j, "H less F placebo", absent=NO_PLACEBO),
            signed(found.j_directed, "CSS less F placebo", absent=NO_PLACEBO),
            number(found.ppv(0.1), "if a tenth of all changes matters", "Never moved."),
            number(found.ppv(0.5), "if half of all changes matters", "Never moved."),
            number(found.balanced, "harmonic mean of CSS and CSpS", NO_PLACEBO),
            number(found.d_prime, z, NO_PLACEBO),
            number(found.criterion, z, NO_PLACEBO),
            p_value(against.p if compared else None,
                    f"McNemar on {compared} cases: moved on the edit alone {against.only_active}, "
                    f"on the placebo alone {against.only_placebo}"),
        ))  # fmt: skip
    return made(
        "board-specificity",
        "Sensitivity against specificity",
        f"edits of edition {edition} without audit findings; placebos; replicates",
        (
            *("System", "F replicate", "F placebo", "F hard", "CSpS", "CSpS*", "H", "CSS"),
            *("J", "J dir", "PPV .1", "PPV .5", "Balanced", "d′", "c", "p"),
        ),
        rows,
        notes=(
            "F: mean movement of answers where treatment does not change: ½ beside the core.",
            "H: moved in the core, whichever way; CSS: the right way, over the same edits.",
        ),
    )


def coverage_table(here: Sequence[Entrant]) -> Table:
    """CMS under every policy, with the ranks each gives."""
    values: dict[Empty, dict[str, Rate]] = {
        policy: {e.system: cms(e.coverage, policy) for e in here} for policy in EMPTY
    }
    by = {policy: _ranked(values[policy]) for policy in EMPTY}
    rows: list[tuple[Cell, ...]] = []
    for e in here:
        row = [
            cells.words(e.system),
            *(
                cells.rate(recall(e.coverage, level), "No case has any.", draws=0, what="answers")
                for level in ("strong", "tacit", "refusal")
            ),
        ]
        for policy in EMPTY:
            found = values[policy][e.system]
            row += [cells.rate(found, NO_CMS, draws=0, what="answers")]
            row += [_rank(by[policy].get(e.system))]
        other = cms(e.coverage, refused="recommended")
        row.append(cells.rate(other, "Recommendations were not counted.", draws=0, what="answers"))
        empty = with_empty_category(e.coverage)
        row.append(cells.rate(empty, NO_CMS, draws=0, what="answers"))
        rows.append(tuple(row))
    return made(
        "board-coverage",
        "Coverage of the consensus",
        "original answers that were read; mean over cases",
        (
            *("System", "Strong", "Tacit", "Refused", "Renormalised", "rank", "As met", "rank "),
            *("As missed", " rank", "V of recommended", "Empty category"),
        ),
        rows,
        notes=(
            "An empty category of the consensus is left out, counts as met, or as missed. "
            "V of recommended: renormalised, with refusals over recommendations.",
        ),
    )


def _ranked(rates: Mapping[str, Rate]) -> dict[str, float]:
    there = {name: rate.value for name, rate in rates.items() if rate.value is not None}
    return dict(zip(there, ranks(list(there.values())), strict=True))


def _rank(value: float | None) -> Cell:
    if value is None:
        return cells.dash("Nothing to rank by.")
    return Cell(text=f"{value:g}", value=value)


def _change(before: float | None, after: float | None) -> Cell:
    if before is None or after is None:
        return cells.dash("It has not both ranks.")
    return Cell(text=f"{before - after:+g}", value=before - after, why="CMS rank less CSS rank")


def _behind(rate: Rate, what: str) -> str:
    return f"moved {rate.hits:g} of {rate.of} {what} in {len(rate.parts)} cases"


def _no_j(found: Specificity) -> str:
    """Why there is no difference of sensitivity and false alarms."""
    if found.false_alarm.value is None:
        return NO_PLACEBO
    return "No edit without audit findings was scored."
