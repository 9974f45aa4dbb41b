"""Which systems answer which cases, how often and within what limits."""

from pydantic import Field, field_validator

from chartproof.records.record import Document, Record, once
from chartproof.records.system import Compared, Contrast

ATTEMPTS = 1_000
"""More attempts at one case tell nothing more of it, and every one is planned before the first."""


class Budget(Record):
    """Limits of one run. Reaching one is the agent's failure, and the trace says which.

    Attributes:
        calls: Of tools.
        seconds: From its beginning to its report.
        requests: To a model.
        tokens: In and out of a model, cached ones included.
        usd: Spent on a model whose price is known.
    """

    calls: int = Field(default=80, ge=1)
    seconds: float = Field(default=120, ge=0.1, le=86_400, allow_inf_nan=False)
    requests: int | None = Field(default=None, ge=1)
    tokens: int | None = Field(default=None, ge=1)
    usd: float | None = Field(default=None, gt=0, allow_inf_nan=False)


class Study(Compared, Document):
    """`study.yaml`. Paths are relative to the file.

    Attributes:
        cases: Folder of a case set.
        systems: Names of scripted systems, or whole systems; see `records/system.py`.
        contrasts: Pairs of them that are to be compared, named before the run.
        scenarios: Only these; empty takes all.
        development: Only cases of the development subset.
        arms: Arms to run: `factual` is the record as it stands; `all`, `must_flip` and `must_hold`
            name arms together, and so does a pattern such as `twin:*` or `policy:P?`.
        attempts: Of each system at each case, at most 1,000: that settles a share to ±3 points, and
            all cells are planned before the first is run, so that a slip of digits would stand
            still.
        policies: Folder of a site's own policies, read instead of the home's `policies/`.
        budget_usd: What the whole study may spend on models; no run begins beyond it.
        shell: Whether systems may run Python in a jail. Off unless asked for, so that a run does
            not depend on the machine; asked for where it cannot be had, the study does not run.
        hypotheses: Named before the run, kept with the results.
    """

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    cases: str
    scenarios: tuple[str, ...] = ()
    development: bool = False
    arms: tuple[str, ...] = ("factual",)
    attempts: int = Field(default=1, ge=1, le=ATTEMPTS)
    prompt: str = "audit-v1"
    budget: Budget = Budget()
    budget_usd: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    policies: str | None = None
    shell: bool = False
    hypotheses: tuple[str, ...] = ()

    @field_validator("scenarios", "arms")
    @classmethod
    def _once(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        """One cell has one place: named twice, it would be run twice at once."""
        return once(names)

    @field_validator("cases", "policies")
    @classmethod
    def _a_path(cls, path: str | None) -> str | None:
        if path is not None and "\0" in path:
            raise ValueError("a path holds no NUL character")
        return path


class Named(Document):
    """What a study was to show, as it was named before its first run.

    Attributes:
        hypotheses: In words.
        contrasts: Pairs of systems.
    """

    hypotheses: tuple[str, ...] = ()
    contrasts: tuple[Contrast, ...] = ()
