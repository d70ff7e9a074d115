"""A taskset that has one task, and fails to load the second."""

from sums import Sums


class Broken(Sums):
    def load(self):
        yield super().load()[0]
        yield {}["answer"]


__all__ = ["Broken"]
