"""The folders of the package are floors: none imports another in a circle, types included."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import agentlightning_runtime

PACKAGE = Path(agentlightning_runtime.__file__).parent


def imports_by(name: str, file: Path) -> set[str]:
    """The folders of the package, or its modules, that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(f"{PACKAGE.name}."):
            path = node.module.split(".")[1:]
            found.add(path[0] if name == "folder" else ".".join(path))
    return found


def test_folders_do_not_import_each_other_in_a_circle() -> None:
    graph: dict[str, set[str]] = {}
    for file in PACKAGE.rglob("*.py"):
        folder = file.relative_to(PACKAGE).parts[0]
        if not folder.endswith(".py"):
            graph.setdefault(folder, set()).update(imports_by("folder", file) - {folder})
    assert len(graph) > 5
    TopologicalSorter(graph).prepare()


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    graph = {
        ".".join(file.relative_to(PACKAGE).with_suffix("").parts): imports_by("module", file)
        for file in PACKAGE.rglob("*.py")
    }
    TopologicalSorter(graph).prepare()


def test_the_contract_imports_no_torch() -> None:
    for file in (PACKAGE / "contract").glob("*.py"):
        for node in ast.parse(file.read_text()).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.startswith(("torch", "transformers")) for name in names), file
