"""Our edits and those published, applied to whole packets and audited."""

import pytest
from tests.interventions.charts import (
    CHARTS,
    COLON,
    EXAMPLE,
    LUNG,
    PANCREAS,
    RESECTABLE,
    packet,
    subject,
)

from chartproof.interventions.applying import Applied, apply
from chartproof.interventions.catalogue import Intervention, catalogue
from chartproof.interventions.eligibility import eligibility
from chartproof.interventions.packet_audit import Auditor
from chartproof.interventions.passages import Packet
from chartproof.interventions.states import patient
from chartproof.records.board import Cancer
from chartproof.records.packet_account import PacketAudit
from chartproof.records.sensitivity import Edition

CATALOGUE = catalogue()


def made(id_: str, edition: Edition, text: str, cancer: Cancer) -> tuple[Applied, PacketAudit]:
    of = subject(text, cancer)
    applied = apply(CATALOGUE[id_], edition, of)
    audit = Auditor(of).audit(CATALOGUE[id_], edition, applied.packet, applied.inserted)
    return applied, audit


def eligible() -> list[tuple[Intervention, Cancer, str]]:
    return [
        (each, cancer, text)
        for cancer, text in CHARTS
        for each in CATALOGUE.with_text()
        if eligibility(each, "v2", subject(text, cancer)).eligible
    ]


ELIGIBLE = eligible()
NAMED = [f"{each.id[:2]}-{cancer}" for each, cancer, _ in ELIGIBLE]


def test_every_family_is_tried_below() -> None:
    assert {each.entry.letter for each, _, _ in ELIGIBLE} == set("ABCDE")


@pytest.mark.parametrize(("intervention", "cancer", "text"), ELIGIBLE, ids=NAMED)
def test_our_edition_passes_its_own_audits(
    intervention: Intervention, cancer: Cancer, text: str
) -> None:
    _, audit = made(intervention.id, "v2", text, cancer)
    assert audit.failed == ()


@pytest.mark.parametrize(("intervention", "cancer", "text"), ELIGIBLE, ids=NAMED)
def test_an_unchanged_packet_is_flagged_by_more_than_its_text(
    intervention: Intervention, cancer: Cancer, text: str
) -> None:
    of = subject(text, cancer)
    # a space more: the text differs, and nothing else does
    same = Packet.of(text.replace("END OF PACKET", "END OF PACKET ", 1))
    audit = Auditor(of).audit(intervention, "v2", same)
    assert not audit.noop
    assert audit.semantic_noop


@pytest.mark.parametrize(("intervention", "cancer", "text"), ELIGIBLE, ids=NAMED)
def test_our_edition_applies_once(intervention: Intervention, cancer: Cancer, text: str) -> None:
    once = apply(intervention, "v2", subject(text, cancer)).text
    again = subject(once, cancer)
    assert not eligibility(intervention, "v2", again).eligible
    if intervention.v2 and intervention.v2.said.mutation_type != "insert":
        assert apply(intervention, "v2", again).text == once


LEAKS = [
    ("A2", "breast", EXAMPLE, leak)
    for leak in ("HER2-positive disease.", "her2 +", "ERBB2 amplified.", "HER2 IHC 3+.")
]
LEAKS += [
    ("D1", "breast", EXAMPLE, leak)
    for leak in (
        "Post-op day 3.",
        "ypT1 at surgery.",
        "s/p right hemicolectomy.",
        "Adjuvant treatment started.",
    )
]
LEAKS += [
    ("A3", "nsclc", LUNG, "EGFR L858R on ctDNA."),
    ("A4", "colorectal", COLON, "dMMR tumor."),
    ("B1", "pancreatic", PANCREAS, "She is treatment-naive."),
    ("C2", "nsclc", LUNG, "ALK negative."),
]


@pytest.mark.parametrize(("id_", "cancer", "text", "leak"), LEAKS)
def test_a_planted_leak_is_caught(id_: str, cancer: Cancer, text: str, leak: str) -> None:
    of = subject(text, cancer)
    after = apply(CATALOGUE[id_], "v2", of).text
    entry = f"[Encounter] 2029-12-01 | Nursing | Call\nNote. {leak} Thanks.\n---\nEND OF PACKET"
    leaking = Packet.of(after.replace("END OF PACKET", entry))
    audit = Auditor(of).audit(CATALOGUE[id_], "v2", leaking)
    assert "residual" in audit.failed
    assert audit.residual[-1].visible
    line = leaking.text.split("\n")[audit.residual[-1].line - 1]
    assert leak.rstrip(".").split()[0] in line


def test_the_published_texts_leave_what_the_paper_says_they_leave() -> None:
    _, flip = made("A2", "v1", EXAMPLE, "breast")
    _, removal = made("D1", "v1", EXAMPLE, "breast")
    assert "residual" in flip.failed
    assert len({each.text for each in removal.residual}) >= 14
    assert [each.id for each in flip.incoherent] == ["unexplained_prior_anti_her2"]


def test_the_example_is_eligible_for_three_entries_of_ours() -> None:
    of = subject(EXAMPLE, "breast")
    found = [e.id[:2] for e in CATALOGUE.with_text() if eligibility(e, "v2", of).eligible]
    assert found == ["A2", "D1", "E1"]


def test_inserted_passages_stand_in_the_order_of_dates() -> None:
    applied, audit = made("E1", "v2", EXAMPLE, "breast")
    dates = [part.date for part in applied.packet.blocks if part.is_dated]
    assert dates == sorted(dates)
    assert set(applied.inserted) <= set(dates)
    assert not audit.incoherent


def test_an_insertion_after_the_end_of_the_dates_is_incoherent() -> None:
    of = subject(RESECTABLE, "pancreatic")
    applied = apply(CATALOGUE["D2"], "v2", of, {"d1": "2001-01-01"})
    audit = Auditor(of).audit(CATALOGUE["D2"], "v2", applied.packet, applied.inserted)
    assert "date_order" in [each.id for each in audit.incoherent]


def test_a_negative_scan_after_the_metastasis_is_incoherent() -> None:
    of = subject(RESECTABLE, "pancreatic")
    applied = apply(CATALOGUE["E1"], "v2", of)
    late = "[Procedure] 2031-01-01 | CT\nNo evidence of metastatic disease.\n---\nEND OF PACKET"
    after = Packet.of(applied.text.replace("END OF PACKET", late))
    audit = Auditor(of).audit(CATALOGUE["E1"], "v2", after, applied.inserted)
    assert "later_negative" in [each.id for each in audit.incoherent]
    assert "incoherent" in audit.failed


def test_another_fact_that_changes_along_is_collateral() -> None:
    of = subject(EXAMPLE, "breast")
    after = apply(CATALOGUE["A2"], "v2", of).text
    broken = Packet.of(after.replace("Microsatellite status: stable (MSS)", "MSI-high"))
    audit = Auditor(of).audit(CATALOGUE["A2"], "v2", broken)
    assert audit.collateral == {"MSI": ("stable", "high")}
    assert "collateral" in audit.failed


def test_a_change_that_the_cap_hides_is_invisible() -> None:
    long = "".join(
        f"[Medication] 2024-0{n % 9 + 1}-01 | saline flush, number {n}, {'x' * 200}\n---\n"
        for n in range(60)
    )
    text = packet(
        "pancreatic", "q", "- 2024-01-01 | Cancer | active",
        f"[Medication] 2020-01-01 | tablet\nStatus: active\n---\n{long}",
    )  # fmt: skip
    changed = Packet.of(text.replace("| tablet", "| capsule"))
    audit = Auditor(subject(text, "pancreatic")).audit(CATALOGUE["B1"], "v1", changed)
    assert audit.visible_sections == ()
    assert "invisible" in audit.failed


def test_what_nobody_edited_is_kept_to_the_character() -> None:
    text = EXAMPLE.replace("Port", "Port").replace(
        "No valvular disease.", "No valvular disease.   \n\n  Kept as it is."
    )
    after = apply(CATALOGUE["A2"], "v2", subject(text, "breast")).text
    assert "No valvular disease.   \n\n  Kept as it is." in after


def test_a_packet_without_an_end_takes_insertions_all_the_same() -> None:
    bare = RESECTABLE.replace("---\nEND OF PACKET\n", "")
    applied, audit = made("E1", "v2", bare, "pancreatic")
    assert applied.text.rstrip().endswith("---")
    assert "liver metastases" in applied.text
    assert "missing" not in audit.failed


def test_the_announced_repairs_change_to_whom_an_entry_applies_and_not_its_text() -> None:
    localized = packet(
        "breast", "q", "- 2025-01-01 | Breast cancer, stage II | active",
        "[Encounter] 2025-01-02 | Clinic | Visit\nNo evidence of metastatic disease.\n",
    )  # fmt: skip
    of = subject(localized, "breast")
    entry = CATALOGUE["D2"]
    assert eligibility(entry, "v1", of).eligible
    # the defect that the dossier names: a negated mention forbids it too
    assert not eligibility(entry, "v1cr", of).eligible
    assert eligibility(entry, "v2", of).eligible
    assert apply(entry, "v1", of).text == apply(entry, "v1cr", of).text


def test_a_flip_without_consequence_is_no_active_change() -> None:
    state = patient(
        "gastric",
        {"HER2": "positive", "CPS": 5, "MSI": "stable", "M": "M0", "stage": "III",
         "surgery": "none"},
    )  # fmt: skip
    text = packet(
        "gastric", "primary management", "- 2025-01-01 | Gastric cancer, stage III | active",
        "[Lab Results] 2025-01-02 | Biomarkers\nHER2 IHC: 3+ (positive)\n",
    )  # fmt: skip
    found = eligibility(CATALOGUE["A2"], "v2", subject(text, "gastric", state))
    assert found.reasons == ("no treatment depends on it in this state",)
    blind = eligibility(CATALOGUE["A2"], "v2", subject(text, "gastric"))
    assert blind.eligible
    assert blind.unknown == ("treatment",)
