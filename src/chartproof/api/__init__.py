"""The small public Python API: what the command line does, as functions.

```python
from pathlib import Path
from chartproof import api

home = Path("out/demo")
with api.open_case(home / "cases", "post-ct-aki") as opened:
    print(api.call_tool(opened.chart, "labs", {"items": [50912]}))
    print(opened.ruling().verdict)
```
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from chartproof.api.timeline import timeline  # at once: a module has the same name

if TYPE_CHECKING:
    from chartproof.api.board import read_board_study, run_board
    from chartproof.api.board_scores import board_tables, score_board
    from chartproof.api.cases import build_cases
    from chartproof.api.charts import Opened, call_tool, open_case, shell
    from chartproof.api.corpora import add_policy, corpus_of
    from chartproof.api.serving import Session, serve_case
    from chartproof.api.steps import (
        grade,
        read_study,
        run,
        study_ids,
        tables,
        write_site,
    )
    from chartproof.api.stores import build_store, source
    from chartproof.api.traces import Again, replay, verify
    from chartproof.catalog.read import policies, scenario, scenario_ids
    from chartproof.chart.chart import Chart
    from chartproof.chart.store import Store
    from chartproof.records.proof import Fault, Verified
    from chartproof.records.study import Study
    from chartproof.rules.engine import evaluate, from_facts
    from chartproof.runs.crew import Crew
    from chartproof.tools.endpoint import Endpoint, Tcp
    from chartproof.tools.replay import Replayed

__all__ = [
    "Again",
    "Chart",
    "Crew",
    "Endpoint",
    "Fault",
    "Opened",
    "Replayed",
    "Session",
    "Store",
    "Study",
    "Tcp",
    "Verified",
    "add_policy",
    "board_tables",
    "build_cases",
    "build_store",
    "call_tool",
    "corpus_of",
    "evaluate",
    "from_facts",
    "grade",
    "open_case",
    "policies",
    "read_board_study",
    "read_study",
    "replay",
    "run",
    "run_board",
    "scenario",
    "scenario_ids",
    "score_board",
    "serve_case",
    "shell",
    "source",
    "study_ids",
    "tables",
    "timeline",
    "verify",
    "write_site",
]

_WHERE = {
    "chartproof.api.board": ("read_board_study", "run_board"),
    "chartproof.api.board_scores": ("board_tables", "score_board"),
    "chartproof.api.charts": ("Opened", "call_tool", "open_case", "shell"),
    "chartproof.api.serving": ("Session", "serve_case"),
    "chartproof.api.corpora": ("add_policy", "corpus_of"),
    "chartproof.api.cases": ("build_cases",),
    "chartproof.api.steps": (
        "grade",
        "read_study",
        "run",
        "study_ids",
        "tables",
        "write_site",
    ),
    "chartproof.api.stores": ("build_store", "source"),
    "chartproof.api.traces": ("Again", "replay", "verify"),
    "chartproof.catalog.read": ("policies", "scenario", "scenario_ids"),
    "chartproof.chart.chart": ("Chart",),
    "chartproof.chart.store": ("Store",),
    "chartproof.records.proof": ("Fault", "Verified"),
    "chartproof.records.study": ("Study",),
    "chartproof.runs.crew": ("Crew",),
    "chartproof.rules.engine": ("evaluate", "from_facts"),
    "chartproof.tools.replay": ("Replayed",),
    "chartproof.tools.endpoint": ("Endpoint", "Tcp"),
}
"""Each name is imported when it is first asked for: a server or a tool call needs few of them."""


def __getattr__(name: str) -> Any:
    for module, names in _WHERE.items():
        if name in names:
            value = globals()[name] = getattr(import_module(module), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
