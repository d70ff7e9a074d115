"""Peer of the interop tests: the rollout manager and the local controller of Agent Lightning 1.0 (Python).

Reads one JSON object {"url", "key", "model", "endpoint", "questions", "n", "is_train"} from stdin, registers the endpoint,
enqueues the questions, runs `Agent` on them with the local controller, each in its own process, and prints the trainer's
result as one line of JSON.
"""

import asyncio
import json
import os
import sys
import threading
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))


def post(url, body):
    headers = {"content-type": "application/json", "authorization": f"Bearer {os.environ['AGL_KEY']}"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


class Agent:
    """A typical agent: two model calls, and a reward from its evaluator."""

    def run(self):
        question = os.environ["QUESTION"]
        messages = [{"role": "user", "content": question}]
        chat = f"{os.environ['AGL_OPENAI_BASE_URL']}/chat/completions"
        first = post(chat, {"model": "any", "messages": messages})
        messages += [first["choices"][0]["message"], {"role": "user", "content": "Are you sure?"}]
        post(chat, {"model": "any", "messages": messages, "max_tokens": 8})
        post(os.environ["AGL_EVENT_URL"], {"event_type": "note", "data": {"question": question}})
        post(os.environ["AGL_EVENT_URL"], {"event_type": "reward", "data": {"value": 0.5, "source": "agent"}})
        if question == "fail":
            raise SystemExit(3)


def train(order):
    from agentlightning.client import AgentLightningAsyncClient
    from agentlightning.controller.local_reconciler import LocalReconciler
    from agentlightning.verl.agl_rollout_manager import AglRolloutManager
    from omegaconf import OmegaConf

    manager = AglRolloutManager(
        agl_base_url=order["url"],
        agl_key=order["key"],
        model=order["model"],
        step=1,
        train_rollout_n=order["n"],
        rollout_timeout_seconds=120,
        poll_interval_seconds=0.2,
        local_agent_class="peer:Agent",
        local_env_map={"QUESTION": "input.question"},
    )
    registered = manager.register_model([order["endpoint"]])
    config = OmegaConf.create(
        {
            "runner_type": "local",
            "agl_server": {"url": order["url"], "agent_url": None, "key": order["key"]},
            "local_runner": {"maximum_size": 4, "poll_interval": 0.2},
        }
    )
    completed = []

    async def control():
        async with AgentLightningAsyncClient(base_url=order["url"], key=order["key"]) as api:
            reconciler = LocalReconciler(api=api, config=config)

            def collect():
                try:
                    data = {"question": order["questions"]}
                    completed.extend(manager.enqueue_and_wait_until_completed(data, is_train=order["is_train"]))
                finally:
                    reconciler.stop()

            trainer = threading.Thread(target=collect)
            trainer.start()
            await reconciler.run()
            trainer.join()

    asyncio.run(control())
    pause = manager.client.post_with_retry("/proxy/pause", json={"reason": "weights"}).json()
    state = manager.client.get("/proxy/state").json()
    resume = manager.client.post_with_retry("/proxy/resume").json()
    left = [manager.client.get(f"/api/rollouts/{item.rollout_id}").status_code for item in completed]
    return {
        "registered": [model.model_dump() for model in registered],
        "completed": [item.model_dump(mode="json") for item in completed],
        "pause": [pause, state, resume],
        "left": left,
        "deleted": manager.delete_model(),
    }


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = os.pathsep.join([HERE, os.environ.get("PYTHONPATH", "")])
    results, sys.stdout = sys.stdout, sys.stderr
    print(json.dumps(train(json.load(sys.stdin))), file=results, flush=True)
