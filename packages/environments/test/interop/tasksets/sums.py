"""Tasks with an end, a condition that ends a rollout, a tool, and tasks that fail in a test's way."""

import os

import verifiers.v1 as vf


class Calculator(vf.Toolset[vf.SharedToolsetConfig, vf.State]):
    @vf.tool
    async def add(self, a: int, b: int) -> str:
        """Adds two numbers."""
        return str(a + b)


class SumData(vf.TaskData):
    answer: str


class SumTask(vf.Task[SumData, vf.State, vf.TaskConfig]):
    @vf.reward
    async def correct(self, trace: vf.Trace) -> float:
        if trace.last_reply == "exit":
            os._exit(1)
        return float(trace.last_reply == self.data.answer) / (0.0 if trace.last_reply == "divide" else 1.0)


class SumConfig(vf.TasksetConfig):
    image: str | None = None


class Sums(vf.Taskset[SumTask, SumConfig]):
    @classmethod
    def toolsets(cls, config):
        return [Calculator(vf.SharedToolsetConfig())]

    def load(self):
        return [
            SumTask(
                SumData(prompt=f"{n} + 1?", system_prompt="Be short.", answer=str(n + 1), image=self.config.image),
                self.config.task,
            )
            for n in range(5)
        ]


__all__ = ["Sums"]

if __name__ == "__main__":
    Calculator.run()
