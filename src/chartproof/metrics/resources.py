"""What runs cost. Source: CliniCARE-Bench §5.8. Shown, and never ranked by."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median

from chartproof.metrics.rate import scoreable
from chartproof.records.scored import Scored
from chartproof.records.sensitivity import Spent


@dataclass(frozen=True, slots=True)
class Resources:
    """Per-run medians over all runs (cost: mean); None where no run tells.

    Attributes:
        told: How many runs tell work-tokens; the others are outside their median.
        sql_share: Calls of the SQL fallback among all calls.
    """

    runs: int
    turns: float | None
    calls: float | None
    refused: float | None
    sql_share: float | None
    calls_by_tool: dict[str, float]
    work_tokens: float | None
    told: int
    cost_usd: float | None
    seconds: float | None


def resources(runs: Sequence[Scored]) -> Resources:
    """Effort of one system."""
    among = [run.effort for run in scoreable(runs)]
    totals = [sum(effort.calls.values()) for effort in among]
    tools = sorted({tool for effort in among for tool in effort.calls})
    tokens = [effort.work_tokens for effort in among if effort.work_tokens is not None]
    costs = [effort.cost_usd for effort in among if effort.cost_usd is not None]
    times = [effort.seconds for effort in among if effort.seconds is not None]
    turns = [effort.turns for effort in among if effort.turns is not None]
    every = sum(totals)
    return Resources(
        runs=len(among),
        turns=median(turns) if turns else None,
        calls=median(totals) if totals else None,
        refused=median([effort.refused for effort in among]) if among else None,
        sql_share=sum(e.calls.get("sql", 0) for e in among) / every if every else None,
        calls_by_tool={tool: median([e.calls.get(tool, 0) for e in among]) for tool in tools},
        work_tokens=median(tokens) if tokens else None,
        told=len(tokens),
        cost_usd=mean(costs) if costs else None,
        seconds=median(times) if times else None,
    )


@dataclass(frozen=True, slots=True)
class Spending:
    """What the runs of a stage of a board study took together; a sum is None unless all runs tell.

    Attributes:
        asked: How often a system was started and asked.
        calls: Of tools.
        told: How many runs tell work-tokens.
    """

    runs: int
    systems: int
    asked: int
    calls: int
    turns: int | None
    work_tokens: int | None
    told: int
    cost_usd: float | None
    seconds: float | None


def spending(runs: Sequence[Spent]) -> Spending:
    """Sums over runs. Source: Causal Sensitivity Score, App. F."""
    turns = [run.turns for run in runs if run.turns is not None]
    tokens = [run.work_tokens for run in runs if run.work_tokens is not None]
    costs = [run.cost_usd for run in runs if run.cost_usd is not None]
    times = [run.seconds for run in runs if run.seconds is not None]
    n = len(runs)
    return Spending(
        runs=n,
        systems=len({run.system for run in runs}),
        asked=sum(run.asked for run in runs),
        calls=sum(run.calls for run in runs),
        turns=sum(turns) if n and len(turns) == n else None,
        work_tokens=sum(tokens) if n and len(tokens) == n else None,
        told=len(tokens),
        cost_usd=sum(costs) if n and len(costs) == n else None,
        seconds=sum(times) if n and len(times) == n else None,
    )
