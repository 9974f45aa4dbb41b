"""Small invented packets on which interventions are tried."""

from pathlib import Path

from chartproof.interventions.catalogue import catalogue
from chartproof.interventions.eligibility import Subject
from chartproof.records.board import Cancer, State

EXAMPLE = (Path(__file__).parents[1] / "oncology" / "example_packet.txt").read_text("utf-8")
"""The dossier's worked example: HER2-positive breast cancer, resected after neoadjuvant therapy."""


def packet(cancer: Cancer, question: str, conditions: str, entries: str) -> str:
    """A packet of the format, with these entries."""
    return f"""TUMOR BOARD CASE PACKET
Packet ID: SYN-X-0001
Cancer type: {cancer}
Question to the board: {question}
---
PATIENT DEMOGRAPHICS
Age: 61
ECOG performance status: 1
---
CONDITIONS
{conditions}
---
ALLERGIES
- None known
---
{entries.strip()}
---
END OF PACKET
"""


LUNG = packet(
    "nsclc",
    "first-line systemic therapy",
    "- 2025-01-10 | Lung adenocarcinoma, stage IVB, EGFR-mutated | active",
    """
[Procedure] 2025-01-12 | CT-guided core biopsy, right lower lobe
Pathology: adenocarcinoma, TTF-1 positive.
---
[Lab Results] 2025-01-20 | Tumor NGS and PD-L1
EGFR: exon 19 deletion (p.E746_A750del), VAF 31%
ALK: no rearrangement
PD-L1 TPS: 5%
---
[Lab Results] 2025-01-21 | CMP
Cr 0.9 mg/dL | eGFR 81 mL/min
---
[Procedure] 2025-01-22 | PET/CT
Right lower lobe mass, bone and adrenal metastases.
---
[Encounter] 2025-01-28 | Thoracic oncology | New patient consultation
61-year-old never-smoker with metastatic lung adenocarcinoma. Molecular profile shows an EGFR exon
19 deletion. Treatment-naive. Brain MRI clear. The tumor is oncogene-addicted.
Plan: tumor board for first-line choice.
""",
)
COLON = packet(
    "colorectal",
    "first-line systemic therapy",
    "- 2025-02-01 | Adenocarcinoma of the ascending colon, stage IV, MSI-high | active",
    """
[Lab Results] 2025-02-10 | MMR immunohistochemistry and NGS
Loss of MLH1 and PMS2 expression; MSH2 and MSH6 intact.
Mismatch repair deficient (dMMR). MSI-High by PCR. TMB: 42 mutations/Mb
---
[Encounter] 2025-02-14 | Medical oncology | New patient consultation
Metastatic colon cancer, microsatellite instability-
high. Liver metastases in both lobes, unresectable. Treatment-naive.
Plan: tumor board.
""",
)
PANCREAS = packet(
    "pancreatic",
    "first-line systemic therapy",
    "- 2025-03-01 | Pancreatic ductal adenocarcinoma, stage IV | active",
    """
[Procedure] 2025-03-05 | EUS-guided fine needle biopsy
Pathology: ductal adenocarcinoma.
---
[Procedure] 2025-03-06 | CT chest, abdomen and pelvis
3.1 cm head mass. Multiple liver metastases.
---
[Encounter] 2025-03-12 | Medical oncology | New patient consultation
Chemotherapy-naive. ECOG 1. BRCA wild-type. Plan: discuss first-line chemotherapy.
""",
)
RESECTABLE = packet(
    "pancreatic",
    "resectability",
    "- 2025-03-01 | Pancreatic ductal adenocarcinoma, stage IB (cT2 cN0 cM0) | active",
    """
[Procedure] 2025-03-06 | CT pancreas protocol
2.4 cm head mass, no vascular contact. No evidence of metastatic disease.
---
[Encounter] 2025-03-12 | Surgical oncology | New patient consultation
Good performance status. Plan for surgery or neoadjuvant therapy, to be decided by the board.
""",
)
GASTRIC = packet(
    "gastric",
    "first-line systemic therapy",
    "- 2025-04-01 | Gastric adenocarcinoma, stage IV, HER2-negative | active",
    """
[Lab Results] 2025-04-10 | Biomarkers
HER2 IHC: 1+ (negative)
PD-L1 CPS: 5
---
[Procedure] 2025-04-12 | CT chest, abdomen and pelvis
Peritoneal carcinomatosis.
---
[Encounter] 2025-04-15 | Medical oncology | New patient consultation
Metastatic gastric cancer, HER2 negative by IHC. Treatment-naive.
""",
)
CHARTS: tuple[tuple[Cancer, str], ...] = (
    ("breast", EXAMPLE),
    ("nsclc", LUNG),
    ("colorectal", COLON),
    ("pancreatic", PANCREAS),
    ("pancreatic", RESECTABLE),
    ("gastric", GASTRIC),
)


def subject(text: str, cancer: Cancer, state: State | None = None) -> Subject:
    """A packet as interventions see it, with a new memory."""
    return Subject.of(text, cancer, catalogue(), state)
