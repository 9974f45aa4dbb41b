"""Scenarios as tasks of Inspect AI: `inspect eval chartproof/post-ct-aki -T home=out/demo`.

Inspect loads this module through its entry point whenever it looks for anything, so that it imports
little; what a task needs is imported when it is made. References are read by the scorer alone: no
sample holds one.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspect_ai import Task, task
from inspect_ai.agent import AgentState, react
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import Model, get_model
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import Solver, TaskState, solver
from inspect_ai.tool import ToolDef, ToolParams

from chartproof.catalog.read import scenario_ids

if TYPE_CHECKING:
    from chartproof.tools.gateway import Gateway

HOME = "out/demo"
"""Where `make demo` puts its cases."""


def _of(scenario_id: str) -> Callable[..., Task]:
    """The task of a scenario, registered under its id."""

    def made(home: str = HOME, arm: str = "factual", prompt: str = "audit-v1") -> Task:
        return scenario_task(scenario_id, Path(home), arm=arm, template=prompt)

    made.__doc__ = f"Cases of {scenario_id}: a home's charts, our tools, the verdict."
    return task(name=scenario_id)(made)


def scenario_task(scenario_id: str, home: Path, *, arm: str, template: str) -> Task:
    """The cases of a scenario in a home, as a task.

    Args:
        scenario_id: Of the catalogue.
        home: Folder with `store/`, `cases/` and `labels/`.
        arm: Of the cases; those that do not have it are left out.
        template: Prompt of the catalogue.

    Raises:
        SpecError: There are no such cases, or something else is not there.
    """
    from chartproof.cases.build import load
    from chartproof.cases.prompt import prompt as prompt_text
    from chartproof.catalog.read import prompt, scenario
    from chartproof.errors import SpecError
    from chartproof.labels import reference
    from chartproof.rules import editions

    manifest = load(home / "cases")
    asked = editions.of_arm(scenario(scenario_id), arm)
    labels = reference.read(home / "labels")
    text = prompt(template)
    samples = [
        Sample(
            id=case.id,
            input=prompt_text(case, asked.scenario, text),
            metadata={"scenario": scenario_id, "arm": arm, "chart": case.charts[arm]},
        )
        for case in manifest.cases
        if case.scenario == scenario_id and arm in case.charts
        if (label := labels.get((case.id, arm))) is not None and label.verdict is not None
    ]
    if not samples:
        raise SpecError(
            f"{home} has no case of {scenario_id} with a reference on the arm `{arm}`.",
            remedy="`chartproof cases show` lists its cases; name another home by `-T home=…`.",
        )
    return Task(
        dataset=MemoryDataset(samples, name=scenario_id),
        solver=on_chart(str(home), scenario_id, arm),
        scorer=verdict(str(home / "labels")),
        metadata={"tier": manifest.tier},
    )


@solver
def on_chart(home: str, scenario_id: str, arm: str) -> Solver:
    """Inspect's own agent over the tools of a case's chart.

    Args:
        home: As for `scenario_task`.
        scenario_id: Likewise.
        arm: Likewise; it may have a policy of its own.
    """
    from chartproof.cases.build import load, store_of
    from chartproof.catalog.read import corpus, scenario
    from chartproof.chart.chart import Chart
    from chartproof.models import egress
    from chartproof.rules import editions
    from chartproof.tools.gateway import Gateway

    manifest = load(Path(home) / "cases")
    guard = egress.guard(store_of(Path(home), manifest), manifest.tier)
    own = Path(home) / "policies"
    policies = corpus(own if own.is_dir() else None)
    twin = editions.twin_of(scenario(scenario_id), arm)
    if twin is not None:
        policies = {**policies, twin.document: editions.corpus(policies, twin)[twin.document]}
    charts = Path(home) / "cases" / "charts"

    async def solve(state: TaskState, generate: Any) -> TaskState:
        del generate
        guard.check(endpoint_of(get_model()))  # before the first request
        with Chart.open(charts / state.metadata["chart"]) as chart:
            gateway = Gateway(chart, policies, lambda _event: None)
            try:
                tools = [_tool(spec, gateway) for spec in gateway.specs()]
                # the first answer without a call is the report
                loop = react(prompt=None, tools=tools, submit=False)
                found = await loop(AgentState(messages=state.messages))
            finally:
                gateway.close()
        state.messages, state.output = found.messages, found.output
        return state

    return solve


def _tool(spec: Mapping[str, Any], gateway: "Gateway") -> ToolDef:
    name, schema = spec["name"], spec["parameters"]

    async def execute(**kwargs: Any) -> str:
        return gateway.call(name, kwargs)

    given = {key: schema[key] for key in ("properties", "required") if key in schema}
    return ToolDef(
        execute,
        name=name,
        description=spec["description"],
        parameters=ToolParams.model_validate(given),
        max_output=0,  # our answers are as long as they may be
    )


def endpoint_of(model: Model) -> str:
    """Where a model of Inspect's is asked.

    Raises:
        SpecError: That is not known.
    """
    from chartproof.errors import SpecError
    from chartproof.models.providers import address
    from chartproof.records.system import Model as Asked

    provider, _, name = str(model).partition("/")
    base = model.api.base_url or None
    if base is None and provider in ("mockllm", "none"):
        return "http://127.0.0.1"  # within this process
    try:
        return address(Asked(id=f"{provider}/{name}", base_url=base))
    except ValueError as error:
        raise SpecError(
            f"Where `{model}` is asked is not known.", remedy="Give it by --model-base-url."
        ) from error


@scorer(metrics=[accuracy(), stderr()])
def verdict(labels: str) -> Scorer:
    """Whether the report's verdict is the reference's. What cannot be read is wrong.

    Args:
        labels: Folder of the references.
    """
    from chartproof.labels import reference
    from chartproof.reports.audit import parse

    known = reference.read(Path(labels))

    async def score(state: TaskState, target: Target) -> Score:
        del target
        label = known[str(state.sample_id), state.metadata["arm"]]
        report = parse(state.output.completion)
        right = report.verdict is not None and report.verdict == label.verdict
        return Score(
            value="C" if right else "I",
            answer=report.verdict.value if report.verdict else None,
            explanation=report.unparsed or f"The reference is {label.verdict}.",
            metadata={"confidence": report.confidence},
        )

    return score


TASKS = {name: _of(name) for name in scenario_ids()}
"""Scenario → its task."""
