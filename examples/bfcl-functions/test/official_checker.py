"""Judges calls with the leaderboard's own checker: reads JSON lines of tasks and calls, writes a line `true` or `false` each."""

import json
import sys
import types
from pathlib import Path

leaderboard = Path(sys.argv[1])
sys.path.insert(0, str(leaderboard))

# The table of models imports the client libraries of all vendors. The checker needs one entry of it.
models = types.ModuleType("bfcl_eval.constants.model_config")
models.MODEL_CONFIG_MAPPING = {"model": types.SimpleNamespace(underscore_to_dot=True)}
sys.modules["bfcl_eval.constants.model_config"] = models

from bfcl_eval.constants.enums import Language  # noqa: E402
from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker  # noqa: E402

for line in sys.stdin:
    case = json.loads(line)
    calls = [{call["name"]: json.loads(call["arguments"])} for call in case["calls"]]
    category = "multiple" if len(case["functions"]) > 1 else "simple"
    try:
        result = ast_checker(
            case["functions"], calls, [json.loads(case["expected"])], Language.PYTHON, category, "model"
        )
        print("true" if result["valid"] else "false")
    except (TypeError, AttributeError, KeyError):
        # It stops at some arguments of a wrong type, which the leaderboard counts as errors.
        print("false")
