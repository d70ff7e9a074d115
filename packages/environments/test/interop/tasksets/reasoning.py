"""The puzzles of reasoning-gym as a taskset, with their scores as rewards."""

import reasoning_gym
import verifiers.v1 as vf


class PuzzleData(vf.TaskData):
    entry: dict
    dataset: str


class Puzzle(vf.Task[PuzzleData, vf.State, vf.TaskConfig]):
    @vf.reward
    async def solved(self, trace: vf.Trace) -> float:
        return float(reasoning_gym.get_score_answer_fn(self.data.dataset)(trace.last_reply, self.data.entry))


class PuzzleConfig(vf.TasksetConfig):
    dataset: str
    seed: int = 0
    size: int = 1000


class Puzzles(vf.Taskset[Puzzle, PuzzleConfig]):
    def load(self):
        dataset, seed, size = self.config.dataset, self.config.seed, self.config.size
        for entry in reasoning_gym.create_dataset(dataset, seed=seed, size=size):
            yield Puzzle(PuzzleData(prompt=entry["question"], entry=entry, dataset=dataset), self.config.task)


__all__ = ["Puzzles"]
