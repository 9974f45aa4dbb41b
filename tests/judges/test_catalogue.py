"""The checks of every scenario in the catalogue."""

import pytest

from chartproof.catalog.read import scenario, scenario_ids
from chartproof.judges.checks import validate
from chartproof.judges.times import moment


@pytest.mark.parametrize("name", scenario_ids())
def test_every_check_and_every_window_can_be_read(name: str) -> None:
    found = scenario(name).scenario
    validate(found)
    anchors = dict.fromkeys(found.anchors)
    for source in found.required_sources:
        for window in source.windows:
            for bound in (window.since, window.until):
                assert bound is None or moment(bound, anchors) is None


@pytest.mark.parametrize("name", scenario_ids())
def test_some_items_are_settled_by_rule(name: str) -> None:
    found = scenario(name).scenario
    for group in (found.required_findings, found.must_do, found.must_not):
        assert any(item.check for item in group)
