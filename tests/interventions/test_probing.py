"""Facts are read back from entries of a packet, and from what somebody wrote of it."""

import pytest

from chartproof.interventions.catalogue import catalogue
from chartproof.interventions.passages import Packet, Reader
from chartproof.interventions.probing import Facts

CATALOGUE = catalogue()
FACTS = Facts(CATALOGUE, Reader(CATALOGUE.guards))
OPERATED = "[Procedure] 2024-02-01 | Left lumpectomy\nNo complication.\n"


@pytest.mark.parametrize(
    ("told", "value"),
    [
        ("Breast cancer, status post lumpectomy, considering radiotherapy.", "resected"),
        ("- surgery: resected\nIn words: the primary was resected.", "resected"),
        ("She underwent surgery in March; pT2 pN0.", "resected"),
        ("Post-operative course unremarkable.", "resected"),
        ("Right hemicolectomy with clear margins.", "resected"),
        ("Unresected primary in the colon.", None),
        ("In words: no operation on the primary is documented.", None),
        ("No prior resection. Candidate for lumpectomy.", None),
        ("Lumpectomy is planned for May.", None),
        ("Planned: mastectomy after chemotherapy.", None),
        ("The primary is to be resected.", None),
        ("A lobectomy was declined; the tumour stays.", None),
        ("Mother had a mastectomy.", None),
        ("Stage II disease, HER2-positive.", None),
    ],
)
def test_a_summary_tells_that_the_tumour_was_operated_on_or_does_not(
    told: str, value: str | None
) -> None:
    assert FACTS.in_prose(told, "SURG") == value


def test_in_a_packet_the_title_of_a_procedure_tells_it_and_no_other_entry() -> None:
    noted = OPERATED.replace("[Procedure]", "[Encounter]")
    assert FACTS.value(Packet.of(OPERATED), "SURG") == "resected"
    assert FACTS.value(Packet.of(noted), "SURG") is None
    assert FACTS.in_prose(noted, "SURG") == "resected"


def test_every_probe_that_reads_entries_alone_has_a_way_to_read_prose() -> None:
    assert all(FACTS.reads_prose(name) for name in CATALOGUE.probes)
    assert FACTS.in_prose("HER2-positive disease.", "HER2") == "positive"
