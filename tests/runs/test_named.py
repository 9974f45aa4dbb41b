"""What a study named before its first run."""

from pathlib import Path

import pytest

from chartproof.errors import RunError
from chartproof.records.study import Named, Study
from chartproof.records.system import Contrast
from chartproof.runs.named import NAMED, keep, read

HIGH = Contrast(of="careful", against="order-time", why="The order's time misleads.")


def study(**more: object) -> Study:
    asked = {"id": "s", "cases": "cases", "systems": ("careful", "order-time"), **more}
    return Study.model_validate(asked)


def test_what_is_named_until_the_first_run_counts_and_nothing_later(tmp_path: Path) -> None:
    assert keep(tmp_path, study()) == Named()
    early = keep(tmp_path, study(hypotheses=("It misleads.",), contrasts=(HIGH,)))
    assert early == Named(hypotheses=("It misleads.",), contrasts=(HIGH,)) == read(tmp_path)
    cell = tmp_path / "careful" / "case" / "factual" / "1"
    cell.mkdir(parents=True)
    (cell / "cell.json").write_text(CELL)
    assert keep(tmp_path, study(hypotheses=("Found afterwards.",))) == early


CELL = (
    '{"study": "s", "system": "careful", "case": "case", "scenario": "post-ct-aki", '
    '"arm": "factual", "attempt": 1, "digests": {}, "digest": "", "outcome": "reported"}'
)


def test_a_file_that_cannot_be_read_is_named_with_its_remedy(tmp_path: Path) -> None:
    (tmp_path / NAMED).write_text('{"hypotheses": 3}')
    with pytest.raises(RunError, match=r"named\.json cannot be read: `hypotheses`"):
        read(tmp_path)


def test_a_contrast_with_a_system_that_the_study_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`contrasts\.0` names `nobody`, which is no system"):
        study(contrasts=[{"of": "careful", "against": "nobody"}])
