"""Generates the Python code of the training-runtime contract from its `.proto` files.

`python scripts/generate_protocol.py` writes it; with `--check` it only verifies that the committed code is up to date,
and exits with 1 when it is not.
"""

from __future__ import annotations

import argparse
import filecmp
import re
import shutil
import sys
import tempfile
from pathlib import Path

from grpc_tools import protoc

APP = Path(__file__).resolve().parent.parent
PROTO = APP.parent.parent / "packages" / "runtime" / "proto"
GENERATED = APP / "src" / "agentlightning_runtime" / "gen"

# Generated modules import each other by the path of the .proto file; a top-level package `agentlightning` would
# be the Python library of that name.
IMPORT = re.compile(r"^(from |import )(agentlightning\.runtime\.)", re.MULTILINE)
PACKAGE = "agentlightning_runtime.gen."


def main() -> int:
    """Writes or checks the generated code; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 when it is out of date")
    is_check = bool(parser.parse_args().check)
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder)
        generate(fresh)
        stale = differences(fresh)
        if is_check:
            for path in stale:
                print(f"{path} is out of date: run `python scripts/generate_protocol.py` and commit the changes")
            return 1 if stale else 0
        shutil.rmtree(GENERATED, ignore_errors=True)
        shutil.copytree(fresh, GENERATED)
        return 0


def generate(target: Path) -> None:
    """Writes the generated package into an empty folder."""
    sources = sorted(PROTO.glob("agentlightning/**/*.proto"))
    well_known = Path(protoc.__file__).parent / "_proto"
    outputs = [f"--python_out={target}", f"--pyi_out={target}"]
    arguments = ["protoc", f"-I{PROTO}", f"-I{well_known}", *outputs, *map(str, sources)]
    if protoc.main(arguments) != 0:
        sys.exit("protoc failed; see its output above")
    for file in target.rglob("*.py*"):
        file.write_text(IMPORT.sub(rf"\1{PACKAGE}\2", file.read_text()))
    for folder in [target, *(path for path in target.rglob("*") if path.is_dir())]:
        (folder / "__init__.py").write_text('"""Generated from packages/runtime/proto: do not edit."""\n')


def differences(fresh: Path) -> list[Path]:
    """Files that are missing, differ, or are left over."""
    wanted = {path.relative_to(fresh) for path in fresh.rglob("*.py*") if path.is_file()}
    present = {path.relative_to(GENERATED) for path in GENERATED.rglob("*.py*") if "__pycache__" not in path.parts}
    present = {path for path in present if path.suffix != ".pyc"}
    changed = {path for path in wanted & present if not filecmp.cmp(fresh / path, GENERATED / path, shallow=False)}
    return sorted(changed | (wanted ^ present))


if __name__ == "__main__":
    sys.exit(main())
