"""The page on studies tells every key that there is, in a file that is read as it stands."""

import re
from pathlib import Path

import yaml
from pydantic import BaseModel

from chartproof.catalog.read import validated
from chartproof.records.study import Budget, Study
from chartproof.records.system import (
    CliSystem,
    CommandSystem,
    Contrast,
    Model,
    ReactSystem,
    ScriptedSystem,
    SingleShotSystem,
)

PAGE = Path(__file__).parents[1] / "docs/how-to/studies.md"
SYSTEMS = (ScriptedSystem, ReactSystem, SingleShotSystem, CliSystem, CommandSystem)


def keys(record: type[BaseModel]) -> set[str]:
    return {field.alias or name for name, field in record.model_fields.items()}


def test_the_page_tells_every_key_of_a_study() -> None:
    (block,) = re.findall(r"```yaml\n# every key\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    raw = yaml.safe_load(block)
    study = validated(raw, Study, "studies.md")
    assert set(raw) == keys(Study)
    assert set(raw["budget"]) == keys(Budget)
    assert set(raw["contrasts"][0]) == keys(Contrast)
    assert [type(each) for each in study.systems] == list(SYSTEMS)
    for told, system in zip(raw["systems"], SYSTEMS, strict=True):
        assert set(told) == keys(system)
    assert set(raw["systems"][1]["model"]) == keys(Model)
