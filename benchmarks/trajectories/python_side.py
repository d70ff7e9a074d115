"""The same work in Python: what Agent Lightning 1.0 does with the events of finished rollouts until the rows of a batch
are lists of numbers, with its own code. Making tensors of them is not counted, nor is HTTP.

Reads one line of JSON for each workload, `{"file", "rounds", "promptLength", "responseLength"}`, and answers with one:
seconds of processor time of each part, and the number of rows.
"""

import contextlib
import gc
import io
import json
import sys
import time
import types


class Tensors(BaseException):
    """The rows are ready: from here on only tensors are made of them."""


def make_tensor(*_):
    raise Tensors


# What the adapter imports besides, and does not need before it makes tensors.
for name, members in {
    "torch": {"LongTensor": make_tensor, "Tensor": object, "device": lambda kind: kind},
    "tensordict": {"TensorDict": object},
    "verl": {"DataProto": object},
    "wandb": {"run": None},
}.items():
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(members)

from agentlightning.schemas import Event, Rollout  # noqa: E402
from agentlightning.server.routes import events as server  # noqa: E402
from agentlightning.verl.agl_rollout_manager import AglRolloutManagerBase, EnqueuedRollout  # noqa: E402
from agentlightning.verl.rollout_adapter import RolloutAdapter  # noqa: E402


class Manager(AglRolloutManagerBase):
    """Gets its events from memory instead of over HTTP."""

    def __init__(self, by_rollout):
        self.by_rollout = by_rollout

    def _fetch_rollout_events(self, rollout_id):
        return self.by_rollout[rollout_id]


def rollout_of(rollout_id):
    config = {"timeout_seconds": 3600}
    status = {"state": "succeeded", "last_attempt_id": "0", "created_at": 0.0, "updated_at": 1.0}
    return Rollout.model_validate({"rollout_id": rollout_id, "input": None, "config": config, "status": status})


def trimmed(events):
    """What the server answers to `?format=triplet`."""
    return server._dedupe_model_requests_by_prompt_token_ids([server._to_triplet_format(event) for event in events])


def run(raw, order):
    started = time.process_time()
    by_rollout = {rollout_id: (events, trimmed(events)) for rollout_id, events in raw.items()}
    at_triplets = time.process_time()
    manager = Manager(by_rollout)
    completed = []
    for index, rollout_id in enumerate(raw):
        enqueued = EnqueuedRollout(
            data_id=str(index // 8), rollout_id=rollout_id, step=1, sample_idx_in_step=index, enqueue_time=0.0
        )
        completed.append(manager._build_completed_rollout(enqueued, order["rollouts"][rollout_id]))
    at_completed = time.process_time()
    adapter = RolloutAdapter(
        max_prompt_length=order["promptLength"],
        max_response_length=order["responseLength"],
        device="cpu",
        pad_token_id=0,
        trace_aggregator_level="trajectory",
    )
    rows = 0
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            adapter.get_train_data_batch(completed)
    except Tensors as reached:
        rows = len(reached.__traceback__.tb_next.tb_frame.f_locals["input_ids_list"])
    at_rows = time.process_time()
    return {
        "triplets": at_triplets - started,
        "completed": at_completed - at_triplets,
        "adapter": at_rows - at_completed,
        "rows": rows,
    }


for line in sys.stdin:
    order = json.loads(line)
    with open(order["file"], encoding="utf-8") as file:
        lists = json.load(file)
    raw = {events[0]["rollout_id"]: [Event.model_validate(event) for event in events] for events in lists}
    del lists
    order["rollouts"] = {rollout_id: rollout_of(rollout_id) for rollout_id in raw}
    gc.collect()
    times = [run(raw, order) for _ in range(order["rounds"])]
    print(json.dumps(times), flush=True)
