"""The parts of `gpu_measure.py`."""
