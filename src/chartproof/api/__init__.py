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

from chartproof.api.charts import Opened, call_tool, open_case
from chartproof.api.steps import build_cases, grade, read_study, run, tables, write_site
from chartproof.api.stores import build_store, source
from chartproof.api.timeline import timeline
from chartproof.catalog.read import policies, scenario, scenario_ids
from chartproof.chart.chart import Chart
from chartproof.chart.store import Store
from chartproof.records.study import Study
from chartproof.rules.engine import evaluate, from_facts

__all__ = [
    "Chart",
    "Opened",
    "Store",
    "Study",
    "build_cases",
    "build_store",
    "call_tool",
    "evaluate",
    "from_facts",
    "grade",
    "open_case",
    "policies",
    "read_study",
    "run",
    "scenario",
    "scenario_ids",
    "source",
    "tables",
    "timeline",
    "write_site",
]
