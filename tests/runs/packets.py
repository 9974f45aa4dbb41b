"""One packet for tests of runs, written by hand: residual HER2-positive breast cancer."""

BREAST = """TUMOR BOARD CASE PACKET
Packet ID: SYN-9000001
Packet format: css-packet/1
Cancer type: breast
Source: SYNTHETIC - written for a test, not a real patient
Question to the board: adjuvant therapy after breast surgery
---
PATIENT DEMOGRAPHICS
Name: Marisol Invented (synthetic)
Age: 54
Sex: Female
ECOG performance status: 1
---
CONDITIONS
- 2024-02-26 | Clinical stage IIB (cT2 cN1 cM0), HER2-positive, ER-negative, PR-negative | active
- 2011-04-07 | Cholecystectomy for gallstones (remote, unrelated) | resolved
---
ALLERGIES
- Latex: contact dermatitis (mild)
---
[Encounter] 2024-02-12 | Primary care | Office visit
Family history: sister treated at 49 for HER2-negative breast cancer at another
hospital, alive and well.
---
[Lab Results] 2024-02-23 | Pathology receptor panel, left breast core
ER: negative (0%)
PR: negative (0%)
HER2 IHC: 3+ (positive)
Assay note: HER2 negative control slide stained appropriately.
---
[Medication] 2024-03-11 | docetaxel 75 mg/m2 IV day 1 every 21 days (TCHP cycle 1-6)
Status: completed 2024-06-24
---
[Procedure] 2024-07-18 | Left lumpectomy with sentinel node biopsy
Indication: residual carcinoma after neoadjuvant TCHP.
---
[Lab Results] 2024-07-24 | Surgical pathology, left breast and axilla
Residual invasive ductal carcinoma, 1.1 cm, grade 3. Margins negative (closest 4 mm).
Stage: ypT1c ypN1a.
---
[Encounter] 2024-08-14 | Medical oncology | Post-surgical visit, tumor board referral
Assessment: left breast cancer, HER2-
positive, hormone receptor negative, status post neoadjuvant TCHP and lumpectomy.
No clinical or radiographic evidence of metastatic disease.
---
END OF PACKET
"""


def changed(to: str) -> str:
    """The same patient with another HER2."""
    ihc = {"HER2-low": "1+ (HER2-low)", "HER2-negative": "0 (negative)"}[to]
    text = BREAST.replace("3+ (positive)", ihc).replace("HER2-\npositive", to)
    return text.replace("HER2-positive, ER", f"{to}, ER")
