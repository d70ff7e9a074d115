"""`python -m agentlightning_runtime` is the command `agentlightning-runtime`."""

import sys

from agentlightning_runtime.cli.main import main

sys.exit(main())
