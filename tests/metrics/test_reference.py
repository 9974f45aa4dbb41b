"""Every metric stands in the reference."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "src/chartproof/metrics").glob("[a-z]*.py"))
HELPERS = {
    *("scoreable", "referenced", "report_present", "grounding_scoreable", "ratio", "macro_ratio"),
}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_every_public_metric_is_documented(module: Path) -> None:
    text = (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            assert node.name in HELPERS or f"`{node.name}`" in text, node.name
