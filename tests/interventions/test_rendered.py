"""Interventions on packets of the renderer: text, state and twin tell the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chartproof.interventions.applying import apply
from chartproof.interventions.catalogue import catalogue
from chartproof.interventions.eligibility import Subject, eligibility
from chartproof.interventions.packet_audit import Auditor
from chartproof.interventions.passages import Packet
from chartproof.interventions.states import grid, otherwise, told_by
from chartproof.oncology.render import rendered
from chartproof.records.board import State

CATALOGUE = catalogue()
STATES = [state for state in grid(CATALOGUE) if state.resectable != "no"]
SAMPLE = list(enumerate(STATES))[::32]
WRITTEN_OUT = {"C1"}
"""A drug in the text gives the status away: our edit is barred where the twin is not."""


def test_the_sample_is_of_every_cancer_and_situation() -> None:
    assert {s.cancer for _, s in SAMPLE} >= {"breast", "gastric", "nsclc", "colorectal", "glioma"}
    assert {(s.M, s.surgery) for _, s in SAMPLE} >= {
        ("M0", "none"), ("M0", "resected"), ("M1", "none"),
    }  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(state=st.sampled_from(STATES), seed=st.integers(0, 10**6), hard=st.booleans())
def test_the_text_tells_the_state(state: State, seed: int, hard: bool) -> None:
    text = rendered(state, seed=seed, size="small", strata=("hard",) if hard else ())
    subject = Subject.of(text, state.cancer, CATALOGUE, state)
    for probe in CATALOGUE.probes:
        if (probe, state.cancer) == ("M", "glioma"):  # never staged so
            continue
        told = subject.facts.value(subject.packet, probe)
        assert told == told_by(state, CATALOGUE, probe), probe


@pytest.mark.parametrize(("seed", "state"), SAMPLE)
def test_our_edits_and_twins_pass_every_audit(seed: int, state: State) -> None:
    text = rendered(state, seed=seed, size="small")
    subject = Subject.of(text, state.cancer, CATALOGUE, state)
    auditor = Auditor(subject)
    for entry in CATALOGUE.with_text():
        by_text = eligibility(entry, "v2", subject)
        by_state = eligibility(entry, "twin", subject)
        assert by_text.eligible == by_state.eligible or entry.id[:2] in WRITTEN_OUT
        if by_text.eligible:
            edited = apply(entry, "v2", subject)
            audit = auditor.audit(entry, "v2", edited.packet, edited.inserted)
            assert audit.failed == (), entry.id
        if by_state.eligible:
            changed = otherwise(state, entry.entry)
            twin = Packet.of(rendered(changed, seed=seed, size="small"))
            assert auditor.audit(entry, "twin", twin).failed == (), entry.id


def test_bulk_changes_no_verdict_of_an_audit() -> None:
    seed, state = SAMPLE[1]
    found = []
    for size in ("small", "large"):
        text = rendered(state, seed=seed, size=size)
        subject = Subject.of(text, state.cancer, CATALOGUE, state)
        eligible = [
            entry for entry in CATALOGUE.with_text() if eligibility(entry, "v2", subject).eligible
        ]
        found.append(
            [
                (entry.id, Auditor(subject).audit(entry, "v2", apply(entry, "v2", subject).packet)
                 .failed)
                for entry in eligible
            ]
        )  # fmt: skip
    assert found[0] == found[1]
    assert found[0]
