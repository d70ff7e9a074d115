"""The parts of `gpu_smoke.py`."""
