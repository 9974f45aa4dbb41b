"""The one reader of the catalogue. A file's name is its id; an unknown key is an error."""

import hashlib
import os
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

import yaml
from pydantic import ValidationError

from chartproof.errors import SpecError, unread
from chartproof.records.frozen import Frozen
from chartproof.records.notes import Notes, Reading, SharedReading, Validity
from chartproof.records.policy import Policy
from chartproof.records.recipe import Recipes
from chartproof.records.record import Record
from chartproof.records.scenario import PolicyTwin, Scenario, Twin, Twins
from chartproof.records.taxonomy import Taxonomy

R = TypeVar("R", bound=Record)

ROOT = Path(str(files("chartproof.catalog")))


@dataclass(frozen=True)
class ScenarioFolder:
    """A scenario with everything that lies beside it.

    Attributes:
        facts_sql: One row per reading of an ambiguous anchor; see `rules/engine.py`.
        notes: Own and shared readings of notes.
        path: The folder; twins and recipes are read from it when they are asked for.
        digest: Of the files that decide a verdict (scenario, facts, notes, shared readings).
    """

    scenario: Scenario
    facts_sql: str
    notes: tuple[Reading, ...]
    path: Path
    digest: str

    @property
    def twins(self) -> tuple[Twin, ...]:
        """Counterfactuals of the chart; none where nobody has written them."""
        return self._twins.twins

    @property
    def policy_twins(self) -> tuple[PolicyTwin, ...]:
        """Counterfactuals of the policy; none where nobody has written them."""
        return self._twins.policies

    @cached_property
    def _twins(self) -> Twins:
        file = self.path / "twins.yaml"
        return read_yaml(file, Twins) if file.exists() else Twins(schema=1, twins=())

    @cached_property
    def recipes(self) -> Recipes | None:
        """How the synthetic hospital plants it; None where nobody has written that."""
        file = self.path / "recipes.yaml"
        if not file.exists():
            return None
        recipes = read_yaml(file, Recipes)
        if recipes.scenario != self.id:
            raise SpecError(
                f"{file}: its scenario is `{recipes.scenario}`.",
                remedy=f"Set `scenario: {self.id}`.",
            )
        return recipes

    @property
    def id(self) -> str:
        """The scenario's id."""
        return self.scenario.id


_SafeLoader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml where PyYAML was built with it: ten times as fast."""


class _StrictLoader(_SafeLoader):
    """YAML in which a key given twice is an error, and dates stay text."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key: Any = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable):
                if key in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"key `{key}` is given twice", key_node.start_mark
                    )
                seen.add(key)
        return super().construct_mapping(node, deep)


_StrictLoader.yaml_implicit_resolvers = {
    first: [(tag, expression) for tag, expression in each if not tag.endswith(":timestamp")]
    for first, each in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def parse_yaml(text: str, name: str) -> Any:
    """Parse YAML strictly; JSON is YAML too.

    Raises:
        SpecError: With line and column of what cannot be read.
    """
    try:
        return yaml.load(text, _StrictLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f" line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise SpecError(
            f"{name}:{place}: {error.problem or 'not readable as YAML'}.",
            remedy="Correct the YAML there.",
        ) from error
    except yaml.YAMLError as error:
        raise SpecError(f"{name} is not readable as YAML.", remedy=str(error)) from error


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """Read a text file in UTF-8; of spreadsheets `utf-8-sig` takes the mark at its beginning away.

    Raises:
        SpecError: It is not there, no regular file, or not UTF-8.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise SpecError(
            f"{path} is no regular file: reading it might never end.",
            remedy="Write the text to a file, and name that.",
        )
    try:
        return path.read_text(encoding=encoding)
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(
            f"{path} cannot be read: {unread(error)}.", remedy="Give a readable UTF-8 file."
        ) from error


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The line of a YAML text on which an entry stands, or the nearest one above it in the tree.

    Args:
        text: YAML that can be parsed.
        path: Keys and positions from the top.
    """
    node: Any = yaml.compose(text, _SafeLoader)
    line = 1
    for part in path:
        found: Any = None
        if isinstance(node, yaml.MappingNode):
            found = next((pair for pair in node.value if pair[0].value == str(part)), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            found = (node.value[part], node.value[part]) if part < len(node.value) else None
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return line


def validated(raw: Any, record: type[R], name: str, text: str | None = None) -> R:
    """Make a record of parsed data.

    Args:
        raw: What was parsed.
        record: The record to make.
        name: Of the file, for a message.
        text: The YAML itself, where the line of a fault is to be named.

    Raises:
        SpecError: With the key that does not fit, and the keys known there.
    """
    try:
        return record.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file as a whole"
        if text is not None:
            name = f"{name}, line {line_of(text, first['loc'])}"
        more = f" ({error.error_count() - 1} more after it)" if error.error_count() > 1 else ""
        raise SpecError(
            f"{name}: `{where}` is not valid: {first['msg'].lower()}{more}.",
            remedy=" ".join(
                f"{each.__name__} has the keys {', '.join(_keys(each))}."
                for each in _around(record, first["loc"])
            ),
        ) from error


def _around(record: type[Record], place: Sequence[int | str]) -> list[type[Record]]:
    """The innermost records that a place in one goes through; several where it may be any."""
    around = [record]
    for part in place:
        if isinstance(part, int):
            continue
        fields = [each.model_fields[part] for each in around if part in each.model_fields]
        inner = [kind for each in fields for kind in _records(each.annotation)]
        tagged = [
            each
            for each in around
            if "kind" in each.model_fields
            and part in get_args(each.model_fields["kind"].annotation)
        ]
        around = inner or tagged or around
    return around


def _records(type_: Any) -> list[type[Record]]:
    """The records that an annotation speaks of."""
    if isinstance(type_, type) and issubclass(type_, Record):
        return [type_]
    return [kind for each in get_args(type_) for kind in _records(each)]


def read_yaml(path: Path, record: type[R]) -> R:
    """Read one YAML (or JSON) file as a typed record.

    Raises:
        SpecError: The file is missing, not YAML, or does not fit the schema.
    """
    name = f"{path.parent.name}/{path.name}" if path.is_relative_to(ROOT) else str(path)
    text = read_text(path)
    return validated(parse_yaml(text, name), record, name, text)


OWN = "CHARTPROOF_SCENARIOS"
"""Variable of the environment that names a folder of a site's own scenarios."""


def scenario_ids() -> tuple[str, ...]:
    """Ids of all scenarios, a site's own among them, sorted.

    Raises:
        SpecError: A site's own scenario has the id of a shipped one, or their folder is none.
    """
    return tuple(sorted(_scenario_folders()))


@cache
def scenario(id_: str) -> ScenarioFolder:
    """Read a scenario's folder.

    Raises:
        SpecError: There is no such scenario, or one of its files is wrong.
    """
    folder = _scenario_folders().get(id_)
    if folder is None:
        raise SpecError(
            f"There is no scenario `{id_}`.",
            remedy=f"Known: {', '.join(scenario_ids())}. Scenarios of your own are found where "
            f"`chartproof --scenarios FOLDER …` or {OWN} names their folder.",
        )
    return read_folder(folder)


def _scenario_folders() -> dict[str, Path]:
    """Id → folder."""
    found = {each.parent.name: each.parent for each in (ROOT / "scenarios").glob("*/scenario.yaml")}
    if own := os.environ.get(OWN):
        if not Path(own).is_dir():
            raise SpecError(
                f"{own} is no folder of scenarios.",
                remedy="Make one with `chartproof scenario new ID --to FOLDER`.",
            )
        for each in sorted(Path(own).resolve().glob("*/scenario.yaml")):
            if each.parent.name in found:
                raise SpecError(
                    f"{each.parent} has the id of a scenario that comes with chartproof.",
                    remedy="Give it another id, and its folder the same name.",
                )
            found[each.parent.name] = each.parent
    return found


def read_folder(folder: Path) -> ScenarioFolder:
    """Read a scenario's folder from anywhere.

    Raises:
        SpecError: One of its files is missing or wrong.
    """
    spec = read_yaml(folder / "scenario.yaml", Scenario)
    if spec.id != folder.name:
        raise SpecError(
            f"{folder.name}/scenario.yaml: its id is `{spec.id}`.",
            remedy=f"Set `id: {folder.name}`.",
        )
    notes_file = folder / "notes.yaml"
    notes = read_yaml(notes_file, Notes) if notes_file.exists() else Notes()
    readings = tuple(shared_reading(each) for each in notes.use) + notes.readings
    facts_sql = read_text(folder / "facts.sql")
    body = [spec.model_dump_json(), facts_sql, *(each.model_dump_json() for each in readings)]
    return ScenarioFolder(
        scenario=spec,
        facts_sql=facts_sql,
        notes=readings,
        path=folder,
        digest=hashlib.sha256("\0".join(body).encode()).hexdigest(),
    )


def shared_reading(id_: str) -> Reading:
    """Read a reading that several scenarios use.

    Raises:
        SpecError: It is missing, wrong, or bears another id.
    """
    reading = read_yaml(ROOT / "readings" / f"{id_}.yaml", SharedReading).reading
    if reading.id != id_:
        raise SpecError(f"readings/{id_}.yaml: its id is `{reading.id}`.", remedy=f"Set {id_}.")
    return reading


@cache
def taxonomy() -> Taxonomy:
    """The specialties and skills that scenarios are labelled with."""
    return read_yaml(ROOT / "taxonomy.yaml", Taxonomy)


@cache
def validity() -> Validity:
    """What has been measured of readings; nothing where nobody has measured."""
    path = ROOT / "validity.yaml"
    return read_yaml(path, Validity) if path.exists() else Validity()


@cache
def frozen_suite() -> Frozen:
    """The frozen suite of the synthetic hospital.

    Raises:
        SpecError: Its manifest is no such thing.
    """
    path = ROOT / "suites" / "synthetic.json"
    try:
        return Frozen.model_validate_json(read_text(path))
    except ValueError as error:
        raise SpecError(
            f"{path} cannot be read: {str(error).splitlines()[0]}.",
            remedy="Freeze a suite anew with `make suite`.",
        ) from error


@cache
def shipped_policies() -> dict[str, Policy]:
    """The policy documents that come with the package, by id, sorted.

    Raises:
        SpecError: A document lacks its front matter, or bears another id than its file.
    """
    return {each.id: each for each in map(read_policy, sorted((ROOT / "policies").glob("*.md")))}


def policies() -> dict[str, Policy]:
    """The documents that scenarios can name: those of the package, and of a site's own scenarios.

    Those stand beside them, in `policies/` of the folder of scenarios.

    Raises:
        SpecError: A document is wrong, or one of the site's has the id of another.
    """
    own = os.environ.get(OWN)
    beside = Path(own) / "policies" if own else None
    shipped = shipped_policies()
    return shipped if beside is None or not beside.is_dir() else _joined(shipped, beside)


def corpus(folder: Path | None) -> dict[str, Policy]:
    """The whole policy corpus: what comes with the package, and a site's own documents.

    Args:
        folder: Of Markdown files as `chartproof policy add` writes them; None adds nothing.

    Raises:
        SpecError: There is no such folder, a document is wrong, or has the id of another.
    """
    if folder is None:
        return policies()
    if not folder.is_dir():
        raise SpecError(
            f"{folder} is no folder of policies.",
            remedy="Make one with `chartproof policy add FILE --to FOLDER`.",
        )
    return _joined(policies(), folder)


def _joined(known: Mapping[str, Policy], folder: Path) -> dict[str, Policy]:
    """Documents that are known, and those of a folder."""
    own: dict[str, Policy] = {}
    for path in sorted(folder.glob("*.md")):
        if not path.is_file():
            raise SpecError(f"{path} is no regular file.", remedy="Move it out of the folder.")
        if path.stem in shipped_policies():
            raise SpecError(
                f"{path} has the id of a policy that comes with chartproof.",
                remedy=f"Give it another name and id, e.g. {path.stem}-site.",
            )
        if path.stem in known:
            raise SpecError(
                f"{path} has the id of a policy beside the site's scenarios.",
                remedy="Keep one of the two.",
            )
        own[path.stem] = read_policy(path, site=True)
    return dict(sorted({**known, **own}.items()))


FRONT = ("id", "title", "body", "year", "source")
"""What a policy document says of itself, before its text."""
STATUS = "status"
"""What a document is to a reader of the catalogue: a digest, and whether it governs. No tool
shows it; what an agent has to know stands in the text. A site's own document may do without."""
POLICY_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,79}", re.ASCII)


def read_policy(path: Path, *, site: bool = False) -> Policy:
    """Read a policy document: front matter between `---` lines, then text, line 1 after it.

    Args:
        path: The file; its name is the id.
        site: Whether it is a site's own, rather than one of the package's.

    Raises:
        SpecError: The front matter is missing or wrong, or the id is not the file's name.
    """
    name = str(path) if site else f"policies/{path.name}"
    try:
        raw = path.read_bytes()
        text = raw.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(
            f"{name} cannot be read: {unread(error)}.", remedy="Give UTF-8 text."
        ) from error
    parts = text.split("---\n", 2)
    if len(parts) != 3 or parts[0].strip():
        raise SpecError(
            f"{name} has no front matter.",
            remedy=f"Begin it with `---`, the keys {', '.join(FRONT)}, and `---`.",
        )
    front = parse_yaml(parts[1], name)
    if not isinstance(front, dict):
        raise SpecError(
            f"{name}: its front matter is no mapping.",
            remedy=f"Write the keys {', '.join(FRONT)}, one a line.",
        )
    given = cast("dict[str, Any]", front)
    unknown = [str(key) for key in given if key not in (*FRONT, STATUS)]
    if unknown:
        raise SpecError(
            f"{name}: its front matter has the unknown key `{unknown[0]}`.",
            remedy=f"Its keys are {', '.join((*FRONT, STATUS))}.",
        )
    policy = validated(
        {
            **given,
            "year": str(given.get("year", "")),
            "digest": hashlib.sha256(raw).hexdigest(),
            "site": site,
            "lines": tuple(parts[2].strip("\n").split("\n")),
        },
        Policy,
        name,
    )
    if policy.id != path.stem:
        raise SpecError(f"{name}: its id is `{policy.id}`.", remedy=f"Set `id: {path.stem}`.")
    if not POLICY_ID.fullmatch(policy.id):
        raise SpecError(
            f"{name}: `{policy.id}` cannot be cited.",
            remedy="An id has up to 80 small letters, digits and hyphens.",
        )
    return policy


def prompt(name: str) -> str:
    """Text of a prompt, `catalog/prompts/<name>.md`.

    Raises:
        SpecError: There is no such prompt.
    """
    known = {path.stem: path for path in sorted((ROOT / "prompts").glob("*.md"))}
    if name not in known:
        raise SpecError(f"There is no prompt `{name}`.", remedy=f"Known: {', '.join(known)}.")
    return read_text(known[name])


def _keys(record: type[Record]) -> list[str]:
    return [field.alias or name for name, field in record.model_fields.items()]
