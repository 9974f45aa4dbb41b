"""Write what the held-out sentences show of the readings of notes.

`python scripts/validity.py` writes `src/chartproof/catalog/validity.yaml` and `docs/validity.md`; a
test compares both with what it would write. `heldout.py` measures.
"""

from collections.abc import Callable
from pathlib import Path

from heldout import (
    HELDOUT,
    HERE,
    QUIET,
    Heldout,
    Result,
    figures,
    heldout,
    looks,
    mentions,
    results,
    sentence,
    words,
    written,
)

from chartproof.catalog.read import ROOT as CATALOG
from chartproof.catalog.read import read_yaml, scenario, scenario_ids
from chartproof.metrics.rate import wilson
from chartproof.records.notes import Measured

FIGURES = CATALOG / "validity.yaml"
PAGE = HERE / "docs" / "validity.md"

THIRD: tuple[str, ...] = (
    "absorption_modifier",
    "acetaminophen_exposure",
    "acs_this_stay",
    "benzodiazepine_reason",
    "chest_opacities",
    "chronic_indication",
    "dialysis_during_dka",
    "early_insulin",
    "ed_respiratory_rate",
    "enzymes_explained",
    "euglycemic_dka",
    "height",
    "imaging_guidance",
    "ingestion_time",
    "low_platelet_cause",
    "mental_status",
    "nac_course",
    "outside_admissions",
    "overt_bleeding",
    "planned_return",
    "pneumonia_course",
    "presentation_bun",
    "respiratory_failure_cause",
    "sedation_exception",
    "sepsis",
    "study_time",
    "surgery_this_stay",
    "toxic_alcohol",
)
"""Readings whose held-out items are a third set; see `tests/validity/heldout/README.md`."""

FEW = 3
"""A cell of fewer items would tell how a single one was read."""

KINDS: dict[str, tuple[str, ...]] = {
    "plain": ("plain",),
    "negated": ("negated",),
    "another person": ("family", "other_person"),
    "another time": ("historical", "copied", "other_encounter"),
    "not (yet) real": ("hypothetical", "planned", "uncertain"),
    "lookalike": ("lookalike",),
}
"""Classes of sentences as tables print them; the rare ones stand together."""


def figures_text() -> str:
    """The text of `catalog/validity.yaml`."""
    validity = figures()
    lines = [
        "# How well each reading of notes does on held-out sentences; docs/validity.md tells how that is",
        "# measured. Made by scripts/validity.py (make validity); never edit it by hand.",
        "schema: 1",
        f"bar: {validity.bar}",
        "readings:",
    ]
    for id_, m in validity.readings.items():
        lines.append(f"  {id_}: {{n: {m.n}, recall: {m.recall}, precision: {m.precision}}}")
    return "\n".join(lines) + "\n"


def page() -> str:
    """The text of `docs/validity.md`."""
    return f"""<!-- Made by scripts/validity.py (make validity); change the script, not this page. -->

# How well notes are read

Some facts stand only in the text of notes, and a *reading* (patterns and cues, as data) takes them
from it. A reference verdict that rests on a reading is worth no more than the reading. So each is
measured on sentences it was not made for, by the code that reads notes for a verdict. A reading
below **{figures().bar}** on recall or precision decides nothing: a case whose verdict rests on it is *reference
pending* and is left out of every score that needs a reference (`rules/engine.py` tells when
exactly; a case that the tables decide keeps its verdict, and so does a chart that the synthetic
hospital made to hit the very rule that is found: there two ways lead to it).

## The sentences

`tests/validity/heldout/` holds {_count()} invented items, at least 40 for each reading and two in five of
them not plainly positive: denied, of a relative, of another time, planned, or words that only look
alike. **A large language model wrote them, with neither the patterns of the readers nor the phrases
of the synthetic hospital before it. No clinician has written or checked one.** They are the second set:
the first was measured several times while readers were developed, and is development material now;
this one was measured when they were finished. {_third()} Nobody tunes on them:
when an item is read wrongly, no pattern learns its wording. Readers are developed on other
sentences, `tests/validity/development/`; {_left_out()} held-out items whose wording happens to stand
there too, word for word, are not measured.

Each item is set under its header in a note of this hospital's layout (a discharge summary, or a
radiology report with its head and, where the item has one, its `exam_name`), stored in a chart in
memory, and read. What answers to what, where reader and sentences use different words, stands in
`tests/validity/mapping.yaml`.

- **Recall**: of the items that hold a value, how many are read with exactly that value. `denied`
  and `historical` are values too.
- **Precision**: of the items in which the reader finds a value, how many hold exactly that one.
- Lists of medications count by ingredient, pooled over the lists. Both sides pass the reader's
  table of drugs (`rules/drugs.yaml`), so that a brand and its generic are one name; a drug that the
  table takes for another is therefore not seen here. What `facts.sql` leaves out of a list, such as
  items under *held*, is left out here.
- Statements of intent count one by one: an intent with a drug or a class. A statement on a class
  speaks of its drugs, and one on a drug of a class that the sentence names, as `facts.sql` takes
  them; of stopping, holding and restarting the last word counts.
{_mapped()}

Intervals are Wilson's, 95 %. They take items (or ingredients) for independent and say how far chance
reaches with so few of them, not how real notes differ from these.

## By reading

| reading | scenario | n | recall | precision | at the bar |
|---|---|---|---|---|---|
{_readings()}
{_twice()}
## By fact

A fact is as good as its weakest reading.

{_facts()}
## What goes wrong

How many items of a kind are read with exactly what they hold, nothing included. *Another person*
joins relatives and others; *another time* the past, other admissions and text copied from older
notes; *not (yet) real* what is hypothetical, planned or uncertain. A list is right when all of it is.
Of one or two items of a kind only the number stands here, in brackets.

| reading | {" | ".join(KINDS)} |
|---|{"---|" * len(KINDS)}
{_classes()}

Errors by form; a wrong value counts once.

| reading | items | right | nothing found | wrong or partly wrong | found where nothing is |
|---|---|---|---|---|---|
{_errors()}

Two figures beside, on which nothing depends. *As asserted* takes `denied`, `historical` and silence
for one, since the facts ask only what a note asserts of the patient now. *In its sections* leaves
out items that stand in a section which the scenario does not let the reading look at.

| reading | recall as asserted | precision as asserted | recall in its sections |
|---|---|---|---|
{_beside()}

## What this does not show

- How the readings do on **real notes**. The sentences are short, clean and one to a note; real
  summaries are long, repeat and contradict themselves, and carry typing errors. Expect worse there.
- Other hospitals, with other headers, layouts, abbreviations or languages.
- Whether the expected values are what clinicians would say. Some are arguable, and say so in a
  `comment`; a model's idea of a hospital's wording may be narrower than the wording.
- Finding the right note or admission, which is SQL and tested there.
- A first look. The figures have been computed more than once while readers were developed, and a
  reader that is worked on until they pass has learnt a little from them, if not from the items.
- How common each kind of sentence is. Two in five items are traps, so that precision here is lower
  than where most mentions are plain.

The synthetic hospital's own phrases are no evidence either way and play no part in these figures.

## Again

`make validity` measures and writes `src/chartproof/catalog/validity.yaml` and this page.
`tests/validity/` fails when either is not what the readers now give, so that a changed reader cannot
keep old figures.
"""


def _rate(counts: tuple[int, int]) -> str:
    hits, of = counts
    if not of:
        return "– (nothing qualified)"
    low, high, _ = wilson(hits / of, of)
    return f"{hits / of:.2f} ({hits}/{of}; {low:.2f}–{high:.2f})"


def _brief(counts: tuple[int, int]) -> str:
    return f"{counts[0] / counts[1]:.2f} ({counts[0]}/{counts[1]})" if counts[1] else "–"


def _count() -> int:
    return sum(len(read_yaml(each, Heldout).items) for each in HELDOUT.glob("*.yaml"))


def _left_out() -> int:
    return sum(len(written(id_)) - len(heldout(id_)) for id_ in figures().readings)


def _third() -> str:
    """What is said of the readings that were measured anew."""
    return (
        f"{len(THIRD)} readings that it first showed below the bar have a third: it was opened for "
        "them, their\npatterns were widened by kinds of wording, and they were measured once on fresh "
        f"items ({', '.join(f'`{id_}`' for id_ in sorted(THIRD))})."
    )


def _mapped() -> str:
    """What else is taken for a held-out value, reading by reading."""
    lines: list[str] = []
    for id_ in figures().readings:
        mine = words(id_)
        whose = f" (on the items of `{mine.items}`)" if mine.items else ""
        pairs = (
            f"for `{given}` also {' or '.join(f'`{v}`' for v in own)}"
            for given, own in mine.values.items()
        )
        if mine.values:
            lines.append(f"- `{id_}`{whose}: {'; '.join(pairs)}.")
    return "\n".join(lines)


def _passes(measured: Measured) -> bool:
    return min(measured.recall, measured.precision) >= figures().bar


def _name(result: Result) -> str:
    """A reading's id, with its scenario where another defines it otherwise."""
    id_ = result.reading.id
    twice = sum(each.reading.id == id_ for each in results()) > 1
    return f"`{id_}` ({result.scenarios[0]})" if twice else f"`{id_}`"


def _readings() -> str:
    return "\n".join(
        f"| `{r.reading.id}` | {', '.join(r.scenarios)} | {len(r.scores)} | {_rate(r.recall)} "
        f"| {_rate(r.precision)} | {'yes' if _passes(r.measured) else '**below**'} |"
        for r in results()
    )


def _twice() -> str:
    ids = [r.reading.id for r in results()]
    names = sorted({f"`{id_}`" for id_ in ids if ids.count(id_) > 1})
    if not names:
        return ""
    return (
        f"\nScenarios define {', '.join(names)} each with patterns of its own; the catalogue keeps "
        "figures by name, and there the weaker ones.\n"
    )


def _facts() -> str:
    kept = figures().readings
    parts: list[str] = []
    for id_ in scenario_ids():
        rows: list[str] = []
        for fact in scenario(id_).scenario.facts:
            if not fact.notes:
                continue
            weakest = min(fact.notes, key=lambda n: min(kept[n].recall, kept[n].precision))
            mine = kept[weakest]
            rest = ", ".join(f"`{n}`" for n in fact.notes if n != weakest) or "–"
            rows.append(
                f"| `{fact.name}` | `{weakest}` | {mine.n} | {mine.recall:.2f} | {mine.precision:.2f} "
                f"| {'yes' if _passes(mine) else '**below**: reference pending'} | {rest} |"
            )
        if rows:
            head = "| fact | weakest reading | n | recall | precision | at the bar | other readings |\n|---|---|---|---|---|---|---|\n"
            parts.append(f"### `{id_}`\n\n{head}" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _classes() -> str:
    lines: list[str] = []
    for result in results():
        cells: list[str] = []
        for classes in KINDS.values():
            mine = [s for s in result.scores if s.item.class_ in classes]
            right = sum(s.exact for s in mine)
            few = f"({len(mine)})" if mine else "–"
            cells.append(f"{right}/{len(mine)}" if len(mine) >= FEW else few)
        lines.append(f"| {_name(result)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _errors() -> str:
    lines: list[str] = []
    for result in results():
        wrong = [s for s in result.scores if not s.exact]
        missed = sum(s.given == 0 for s in wrong)
        invented = sum(s.wanted == 0 for s in wrong)
        right = len(result.scores) - len(wrong)
        lines.append(
            f"| {_name(result)} | {len(result.scores)} | {right} | {missed} "
            f"| {len(wrong) - missed - invented} | {invented} |"
        )
    return "\n".join(lines)


def _beside() -> str:
    lines: list[str] = []
    for result in results():
        quiet = any(s.item.value in QUIET for s in result.scores)
        within = [s for s in result.scores if looks(result.reading, s.item)]
        inside = len(within) < len(result.scores)
        if not quiet and not inside:
            continue
        recall, precision = _asserted(result) if quiet else ("–", "–")
        own = (sum(s.found for s in within), sum(s.wanted for s in within))
        lines.append(
            f"| {_name(result)} | {recall} | {precision} | {_brief(own) if inside else '–'} |"
        )
    return "\n".join(lines)


def _asserted(result: Result) -> tuple[str, str]:
    """Recall and precision where denied, historical and silent are one."""
    items = [s.item for s in result.scores]
    read = mentions(result.reading, items)
    loud = [[v for v in values if v not in QUIET] for values in read]
    plain = [i.model_copy(update={"value": None}) if i.value in QUIET else i for i in items]
    scores = tuple(sentence(result.reading, i, v) for i, v in zip(plain, loud, strict=True))
    again = Result(result.reading, result.scenarios, scores)
    return _brief(again.recall), _brief(again.precision)


PAGES: dict[Path, Callable[[], str]] = {FIGURES: figures_text, PAGE: page}

if __name__ == "__main__":
    for path, make in PAGES.items():
        path.write_text(make(), encoding="utf-8")
        print(path.relative_to(HERE))
