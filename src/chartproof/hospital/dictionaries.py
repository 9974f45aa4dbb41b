"""The hospital's dictionaries and rosters: what codes and items mean, who works there."""

import random
from functools import cache

import numpy as np

from chartproof.hospital.encounters import provider
from chartproof.hospital.rows import Rows
from chartproof.hospital.vocabulary import drugs, table
from chartproof.rules.lint import Dictionaries

LABS_OF_THE_CHART = frozenset(
    (220228, 220545, 220546, 220602, 220615, 220621, 220645, 225624, 227442, 227443, 227457)
)
"""Items under which the ICU's chart repeats laboratory results."""

ROSTERS = ("provider", "caregiver")
DICTIONARIES = ("d_hcpcs", "d_icd_diagnoses", "d_icd_procedures", "d_labitems", "d_items")


@cache
def dictionaries() -> Dictionaries:
    """The codes and items that the hospital knows; scenarios are proved against them."""
    kinds = ("diagnoses", "procedures")
    return Dictionaries(
        items=frozenset(int(row["itemid"]) for row in table("items")),
        codes={k: frozenset(row["icd_code"] for row in table(f"icd_{k}")) for k in kinds},
    )


def write(rows: Rows) -> None:
    """Write the seven tables that belong to no patient."""
    for version in ("diagnoses", "procedures"):
        for row in table(f"icd_{version}"):
            rows.add(
                f"d_icd_{version}", icd_code=row["icd_code"], icd_version=int(row["icd_version"]),
                long_title=row["long_title"],
            )  # fmt: skip
    for row in table("hcpcs"):
        rows.add("d_hcpcs", code=row["code"], category=None,
                 long_description=row["short_description"],
                 short_description=row["short_description"])  # fmt: skip
    icu_drugs = {d.icu_item for d in drugs() if d.icu_item}
    for row in table("items"):
        itemid, label, link = int(row["itemid"]), row["label"], row["linksto"]
        if link == "labevents":
            rows.add("d_labitems", itemid=itemid, label=label, fluid=row["fluid"],
                     category=row["category"])  # fmt: skip
        else:
            rows.add("d_items", itemid=itemid, label=label, abbreviation=label[:50], linksto=link,
                     category="Medications" if itemid in icu_drugs
                     else "Labs" if itemid in LABS_OF_THE_CHART else None,
                     unitname=row["unit"] or None,
                     param_type="Numeric" if row["unit"] else "Text")  # fmt: skip
    staff = random.Random(0)
    for code in sorted({provider(staff) for _ in range(4000)}):
        rows.add("provider", provider_id=code)
    for number in 90_001 + 37 * np.arange(120):
        rows.add("caregiver", caregiver_id=int(number))
