"""What runs cost. Source: CliniCARE-Bench §5.8. Shown, and never ranked by."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median

from chartproof.metrics.rate import scoreable
from chartproof.records.scored import Scored


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
