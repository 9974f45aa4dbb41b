"""Which systems answer which cases, how often and within what limits."""

from pydantic import Field, field_validator

from chartproof.records.record import Document, Record, once

ATTEMPTS = 1_000
"""More attempts at one case tell nothing more of it, and every one is planned before the first."""


class Budget(Record):
    """Limits of one run. Reaching one is the agent's failure, and the trace says which."""

    calls: int = Field(default=80, ge=1)
    seconds: float = Field(default=120, ge=0.1, le=86_400, allow_inf_nan=False)


class Study(Document):
    """`study.yaml`. Paths are relative to the file.

    Attributes:
        cases: Folder of a case set.
        scenarios: Only these; empty takes all.
        development: Only cases of the development subset.
        arms: Arms to run: `factual` is the record as it stands; `all`, `must_flip` and `must_hold`
            name arms together, and so does a pattern such as `twin:*` or `policy:P?`.
        attempts: Of each system at each case, at most 1,000: that settles a share to ±3 points, and
            all cells are planned before the first is run, so that a slip of digits would stand
            still.
        policies: Folder of a site's own policies, read instead of the home's `policies/`.
        shell: Whether systems may run Python in a jail. Off unless asked for, so that a run does
            not depend on the machine; asked for where it cannot be had, the study does not run.
        hypotheses: Named before the run, kept with the results.
    """

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    cases: str
    systems: tuple[str, ...] = Field(min_length=1)
    scenarios: tuple[str, ...] = ()
    development: bool = False
    arms: tuple[str, ...] = ("factual",)
    attempts: int = Field(default=1, ge=1, le=ATTEMPTS)
    prompt: str = "audit-v1"
    budget: Budget = Budget()
    policies: str | None = None
    shell: bool = False
    hypotheses: tuple[str, ...] = ()

    @field_validator("systems", "scenarios", "arms")
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
