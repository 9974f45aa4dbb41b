"""What sentences seem to say of a treatment. All were written for the dossier, none by a model."""

import pytest

from chartproof.reports.prose import is_past, mentions, said, strongest

# fmt: off
DEVELOPMENT = [
    ('Recommend T-DXd as next therapy.', 'T-DXd', 'recommended'),
    ('Start fam-trastuzumab deruxtecan-nxki 5.4 mg/kg.', 'T-DXd', 'recommended'),
    ('Enhertu is preferred.', 'T-DXd', 'recommended'),
    ('Trastuzumab deruxtecan is preferred.', 'trastuzumab', None),
    ('Ado-trastuzumab emtansine for 14 cycles.', 'T-DM1', 'recommended'),
    ('Trastuzumab is not indicated because the tumor is HER2-negative.', 'trastuzumab', 'negated'),
    ('No role for HER2-directed therapy.', '@HER2_TARGETED', 'negated'),
    ('Avoid trastuzumab and pertuzumab.', 'pertuzumab', 'negated'),
    (
        'After progression on osimertinib, recommend carboplatin '
        'plus pemetrexed.', 'osimertinib', 'historical',
    ),
    (
        'After progression on osimertinib, recommend carboplatin '
        'plus pemetrexed.', 'pemetrexed', 'recommended',
    ),
    ('If repeat testing shows HER2 3+, add trastuzumab.', 'trastuzumab', 'conditional'),
    ('Trastuzumab only if HER2 positivity is confirmed.', 'trastuzumab', 'conditional'),
    ('Gemcitabine plus nab-paclitaxel instead of FOLFIRINOX.', 'FOLFIRINOX', 'negated'),
    ('Gemcitabine plus nab-paclitaxel instead of FOLFIRINOX.', 'nab-paclitaxel', 'recommended'),
    ('Patient previously received TCHP.', 'TCHP', 'historical'),
    ('Prior therapy: TCHP x6', 'pertuzumab', 'historical'),
    ('Not recommended:\npembrolizumab', 'pembrolizumab', 'negated'),
    ('Upon progression, consider T-DXd.', 'T-DXd', 'later'),
    ('mFOLFOX6 + bevacizumab', 'oxaliplatin', 'recommended'),
    ('mFOLFOX6 + bevacizumab', 'bevacizumab', 'recommended'),
    ('Continue osimertinib with platinum-pemetrexed.', 'osimertinib', 'recommended'),
    ('Pembrolizumab should not be given.', 'pembrolizumab', 'negated'),
    ('Immunotherapy is contraindicated after liver transplant.', '@ICI', 'negated'),
    ('Discontinue pembrolizumab and start docetaxel.', 'pembrolizumab', 'negated'),
    ('Discontinue pembrolizumab and start docetaxel.', 'docetaxel', 'recommended'),
    ('FOLFIRINOX-refractory disease: gemcitabine/nab-paclitaxel.', 'FOLFIRINOX', 'historical'),
    ('FOLFIRINOX-refractory disease: gemcitabine/nab-paclitaxel.', 'gemcitabine', 'recommended'),
    ('Nab-paclitaxel weekly.', 'paclitaxel', None),
    ('liposomal irinotecan with 5-FU/leucovorin', 'irinotecan', None),
    ('liposomal irinotecan with 5-FU/leucovorin', 'fluorouracil', 'recommended'),
    ('Rationale: HER2-positive disease benefits from pertuzumab', 'pertuzumab', 'rationale'),
    ('1. Tucatinib + trastuzumab + capecitabine (strong)', 'tucatinib', 'recommended'),
    ('Switch from trastuzumab to T-DXd', 'T-DXd', 'recommended'),
    ('Olaparib would not be considered given BRCA wild-type.', 'olaparib', 'negated'),
    ('Her disease progressed through T-DXd; tucatinib-based therapy next.', 'T-DXd', 'historical'),
    ('Whipple procedure followed by adjuvant mFOLFIRINOX', 'pancreatectomy', 'recommended'),
    (
        'Surgery is not indicated given metastases; no role for '
        'pancreaticoduodenectomy', 'pancreatectomy', 'negated',
    ),
    ('We recommend against checkpoint inhibitors.', '@ICI', 'negated'),
    ('Osimertinib 80 mg daily, not chemotherapy', 'osimertinib', 'recommended'),
    ('Anti-HER2 therapy can no longer be recommended', '@HER2_TARGETED', 'negated'),
]
ONCE_HELD_OUT = [
    ('Trastuzumab and pertuzumab are removed from the plan.', 'pertuzumab', 'negated'),
    ('There is no indication for trastuzumab deruxtecan.', 'T-DXd', 'negated'),
    (
        'The patient completed six cycles of TCHP; adjuvant T-DM1 is '
        'advised.', 'T-DM1', 'recommended',
    ),
    ('The patient completed six cycles of TCHP; adjuvant T-DM1 is advised.', 'TCHP', 'historical'),
    ('Hold osimertinib', 'osimertinib', 'negated'),
    ('Osimertinib has already failed; give carboplatin/pemetrexed', 'osimertinib', 'historical'),
    ('Given prior FOLFIRINOX failure we suggest GnP', 'gemcitabine', 'recommended'),
    ('Given prior FOLFIRINOX failure we suggest GnP', 'FOLFIRINOX', 'historical'),
    ('Pembrolizumab monotherapy (TPS 70%)', 'pembrolizumab', 'recommended'),
    (
        'While pembrolizumab was an option earlier, it is no longer '
        'appropriate', 'pembrolizumab', 'negated',
    ),
    ('T-DXd may be used should IHC be 1+ on re-review', 'T-DXd', 'conditional'),
    ('Reserve T-DXd for later lines', 'T-DXd', 'later'),
    ('Cetuximab is excluded by the KRAS mutation', 'cetuximab', 'negated'),
    ('Neither trastuzumab nor pertuzumab is needed', 'trastuzumab', 'negated'),
    (
        'Adjuvant capecitabine x 8 cycles followed by surveillance '
        'imaging', 'capecitabine', 'recommended',
    ),
    ('CAPOX x 3 months; no bevacizumab', 'bevacizumab', 'negated'),
    ('Recommend rechallenge with FOLFIRINOX', 'FOLFIRINOX', 'recommended'),
    ('HER2 therapy (Herceptin, Perjeta) ongoing - continue', 'trastuzumab', 'recommended'),
    ('I would favour ribociclib + letrozole over chemotherapy', 'ribociclib', 'recommended'),
    (
        'Immunotherapy-based options such as nivolumab are not '
        'supported in MSS disease', 'nivolumab', 'negated',
    ),
]
# fmt: on


@pytest.mark.parametrize(("text", "item", "says"), [*DEVELOPMENT, *ONCE_HELD_OUT])
def test_a_sentence_says_of_a_treatment(text: str, item: str, says: str | None) -> None:
    assert strongest(mentions(text)).get(item) == says


def test_the_strongest_of_several_mentions_decides() -> None:
    text = "Prior therapy: TCHP\n\nRecommendations:\n1. T-DM1\n\nNot recommended:\n- TCHP"
    found = mentions(text)
    assert strongest(found)["TCHP"] == "historical"
    assert strongest(found)["T-DM1"] == "recommended"
    assert {m.under for m in found if "TCHP" in m.items} == {"historical", "negated"}


def test_a_clause_of_any_length_is_read_in_no_time() -> None:
    assert said("not " + "a " * 50_000, "b " * 50_000) == "recommended"
    assert mentions(" " * 50_000 + "- " * 20_000 + "\n" + "if " * 20_000 + "FOLFOX")


def test_a_name_after_what_was_done_is_past() -> None:
    assert is_past("FOLFOX after ")
    assert is_past("T-DM1 following neoadjuvant ")
    assert is_past("Switch from ")
    for before in ("FOLFOX, then ", "After surgery: ", "after resection, ", "switch from A to "):
        assert not is_past(before)
