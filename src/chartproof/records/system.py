"""What a study's `systems` may hold: the complete configuration that a run executes.

A system is more than its model: harness, prompt, tools and settings belong to it, so that two
entries that differ in one of these are two systems and can be compared as such.

Source: CliniCARE-Bench §5 (system), §6.6 (harness and effort ablations); Causal Sensitivity Score,
App. M (retrieval-controlled baseline).
"""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from chartproof.records.record import Record, once

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", max_length=100)]
"""Of a system: what its folder and its line in every table are called."""

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
CliKind = Literal["claude_code", "codex", "gemini_cli", "opencode"]


class Model(Record):
    """Which model answers, where it is reached, and what it is asked with.

    Attributes:
        id: `provider/name`, as `openai/gpt-5`, `anthropic/claude-sonnet-4-5`, `vllm/my-model`.
        base_url: Where it is served, if not where its provider does.
        key: Name of the environment variable that holds the key; never the key. None takes the
            provider's usual one.
        effort: How much it shall reason.
        temperature: None leaves it to the provider.
        top_p: Likewise.
        seed: Of the provider's sampling, where it has one; each attempt adds its number less one.
        max_tokens: Of one answer.
    """

    id: str = Field(pattern=r"^[a-z0-9_-]+/[^\s/].*$", max_length=200)
    base_url: str | None = Field(default=None, pattern=r"^https?://[^\s]+$")
    key: str | None = Field(default=None, pattern=r"^[A-Z_][A-Z0-9_]*$")
    effort: Effort | None = None
    temperature: float | None = Field(default=None, ge=0, le=2, allow_inf_nan=False)
    top_p: float | None = Field(default=None, gt=0, le=1, allow_inf_nan=False)
    seed: int | None = Field(default=None, ge=0, le=2**31 - 1)
    max_tokens: int | None = Field(default=None, ge=1)

    @property
    def provider(self) -> str:
        """Who serves it."""
        return self.id.partition("/")[0]

    @property
    def name(self) -> str:
        """What its provider calls it."""
        return self.id.partition("/")[2]


class _System(Record):
    """What every system has.

    Attributes:
        prompt: The template that it is asked with; None takes the study's.
        policies: Whether it is offered the corpus of policies. Without it, the study's template is
            taken in its form `-no-policy`, which asks for no document that is not there.
    """

    name: Name
    prompt: str | None = None
    policies: bool = True

    def template(self, usual: str) -> str:
        """Name of the template that it is asked with in a study whose own is `usual`."""
        return self.prompt or (usual if self.policies else f"{usual}-no-policy")


class ScriptedSystem(_System):
    """A program of this package. A plain name in a study means the one of that habit.

    Attributes:
        habit: By which it works; None is the one that it is named by.
    """

    kind: Literal["scripted"] = "scripted"
    habit: str | None = None


class ReactSystem(_System):
    """A model in a loop of reasoning and calls of tools.

    Attributes:
        turns: Answers of the model that a run may take.
        actions: `native` lets it call tools as its provider does; `json` asks for each step as one
            JSON object, for models whose own calls fail.
        tools: Only these; empty offers all.
    """

    kind: Literal["react"]
    model: Model
    turns: int = Field(default=60, ge=1, le=1_000)
    actions: Literal["native", "json"] = "native"
    tools: tuple[str, ...] = ()


class SingleShotSystem(_System):
    """A model that is given the chart as text and answers once.

    Attributes:
        characters: How much of the chart fits.
        after: Name of another system of the study: instead of the chart it is given what that one
            retrieved in the same attempt at the same case, without the loop.
    """

    kind: Literal["single_shot"]
    model: Model
    characters: int = Field(default=400_000, ge=1_000)
    after: str | None = None


class CliSystem(_System):
    """An agent's command line program, unmodified, in a jail.

    Attributes:
        model: `base_url` and `key` are the proxy's; the program itself gets neither.
        version: The only version that may run; None takes what is there.
        turns: Requests to the model that a run may make.
        as_deployed: Leave the ways in which the program exposes tools as they are, where that
            differs by model; else ask for plain calls.
    """

    kind: CliKind
    model: Model
    version: str | None = None
    turns: int = Field(default=100, ge=1, le=10_000)
    as_deployed: bool = False


class CommandSystem(_System):
    """Any program that speaks MCP, or reads a prompt and prints a report.

    Attributes:
        command: Program and arguments. `{prompt}` stands for the file of the prompt, `{mcp}` for
            the file that tells the MCP server, as common clients read it.
        speaks: `mcp` is given the tools; `report` only the prompt, on standard input.
        jail: Without one the system is *ungoverned*, and every table says so.
        shares: Folders that it may read in the jail, beside the machine's programs.
        environment: Given to it as it stands; no keys.
        model: Where the proxy leads, if it needs a model.
    """

    kind: Literal["command"]
    command: tuple[str, ...] = Field(min_length=1)
    speaks: Literal["mcp", "report"] = "mcp"
    jail: bool = True
    shares: tuple[str, ...] = ()
    environment: dict[str, str] = Field(default_factory=dict)
    model: Model | None = None
    turns: int = Field(default=100, ge=1, le=10_000)


AnySystem = Annotated[
    ScriptedSystem | ReactSystem | SingleShotSystem | CliSystem | CommandSystem,
    Field(discriminator="kind"),
]


def _whole(system: object) -> object:
    return {"kind": "scripted", "name": system} if isinstance(system, str) else system


SystemEntry = Annotated[AnySystem, BeforeValidator(_whole)]
"""A system as a study names it: a plain name stands for a scripted one."""


def scripted(names: Iterable[str]) -> tuple[ScriptedSystem, ...]:
    """Scripted systems by name."""
    return tuple(ScriptedSystem(name=name) for name in names)


class Contrast(Record):
    """Two systems that are to be compared, named before the run.

    Attributes:
        of, against: Names of systems of the study.
        metric: What they are compared by; `css` in a study of a tumour board, and there alone.
        why: What the comparison is about.
    """

    of: Name
    against: Name
    metric: Literal["accuracy", "over_commitment", "over_abstention", "css"] = "accuracy"
    why: str = ""


class Compared(Record):
    """Base of studies: systems, and contrasts among them."""

    systems: tuple[SystemEntry, ...] = Field(min_length=1)
    contrasts: tuple[Contrast, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Of the systems, in order."""
        return tuple(each.name for each in self.systems)

    @field_validator("systems")
    @classmethod
    def _distinct(cls, systems: tuple[AnySystem, ...]) -> tuple[AnySystem, ...]:
        """One cell has one place: named twice, it would be run twice at once."""
        once(tuple(each.name for each in systems))
        return systems

    @model_validator(mode="after")
    def _named(self) -> "Compared":
        known = set(self.names)
        wanted = [(f"contrasts.{n}", name) for n, each in enumerate(self.contrasts)
                  for name in (each.of, each.against)]  # fmt: skip
        wanted += [
            (f"systems.{n}.after", each.after)
            for n, each in enumerate(self.systems)
            if isinstance(each, SingleShotSystem) and each.after is not None
        ]
        for place, name in wanted:
            if name not in known:
                raise ValueError(f"`{place}` names `{name}`, which is no system of the study")
        for each in self.systems:
            if isinstance(each, SingleShotSystem) and each.after == each.name:
                raise ValueError(f"`{each.name}` cannot come after itself")
        return self
