"""The folders of the package are floors: none imports another in a circle, types included.

Files at the root of the package put it together, and are left out.
"""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import agentlightning_runtime

PACKAGE = Path(agentlightning_runtime.__file__).parent


def modules_of(package: Path) -> dict[str, Path]:
    """The files of a package by the dotted names of their modules; of a folder's `__init__` that of the folder."""
    return {
        ".".join(file.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): file
        for file in package.rglob("*.py")
    }


def imports_of(file: Path, modules: dict[str, Path]) -> set[str]:
    """The modules of the package that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            submodules = {f"{node.module}.{alias.name}" for alias in node.names}
            found.update(submodules & modules.keys() or {node.module})
    return found & modules.keys()


def folder_graph(package: Path) -> dict[Path, set[Path]]:
    """The folders that each folder imports from, at every level."""
    modules = modules_of(package)
    graph: dict[Path, set[Path]] = {}
    for file in modules.values():
        if file.parent != package:
            targets = {modules[name].parent for name in imports_of(file, modules)}
            graph.setdefault(file.parent, set()).update(targets - {file.parent, package})
    return graph


def test_folders_do_not_import_each_other_in_a_circle() -> None:
    graph = folder_graph(PACKAGE)
    assert len(graph) > 15
    TopologicalSorter(graph).prepare()


def test_a_circle_is_found_between_folders_and_their_parents(tmp_path: Path) -> None:
    package = tmp_path / "sample"
    (package / "engine" / "loss").mkdir(parents=True)
    for folder in (package, package / "engine", package / "engine" / "loss"):
        (folder / "__init__.py").touch()
    (package / "engine" / "step.py").write_text("from sample.engine.loss.sums import total\n")
    sums = package / "engine" / "loss" / "sums.py"
    sums.write_text("total = sum\n")
    TopologicalSorter(folder_graph(package)).prepare()
    sums.write_text("if True:\n    from sample.engine import step\n")
    with pytest.raises(CycleError):
        TopologicalSorter(folder_graph(package)).prepare()


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    modules = modules_of(PACKAGE)
    TopologicalSorter({name: imports_of(file, modules) for name, file in modules.items()}).prepare()


def test_the_contract_imports_no_torch() -> None:
    for file in (PACKAGE / "contract").glob("*.py"):
        for node in ast.parse(file.read_text()).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.startswith(("torch", "transformers")) for name in names), file
