"""Plays rollouts of a taskset of verifiers for `verifiersEnvironment`.

Requests and responses are lines of JSON. The first request is `{"id", "args", "maxTurns"}`, and its response `{"ready": true}` or
`{"error": ..., "remedy": ...}`. The others are `{"rollout", "index", "baseUrl", "model", "apiKey"}` or `{"cancel": rollout}`, and the
response to a rollout is `{"rollout", "reward"}` or `{"rollout", "error", "kind", "status"}`. The program ends with its input.
"""

import asyncio
import json
import os
import sys
from importlib.metadata import PackageNotFoundError, version
from math import isfinite

# Libraries print to the standard output, which is for responses only.
responses = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)

SUPPORTED = "0.4."


def respond(response):
    responses.write(json.dumps(response) + "\n")


class LoadError(Exception):
    def __init__(self, message, remedy):
        super().__init__(message)
        self.remedy = remedy


def check_version():
    install = f"Run `{sys.executable} -m pip install 'verifiers>=0.4,<0.5'`, or set `python` to an environment that has it."
    try:
        found = version("verifiers")
    except PackageNotFoundError:
        raise LoadError(f"{sys.executable} has no package verifiers", install) from None
    if not found.startswith(SUPPORTED):
        raise LoadError(f"verifiers {found} is installed, and version 0.4 is needed", install)


def load(request):
    """The environment of a taskset. All its agents are chats with the trained model, on this machine."""
    check_version()
    from verifiers.v1.configs.agent import AgentConfig
    from verifiers.v1.configs.env import EnvConfig
    from verifiers.v1.env import Env
    from verifiers.v1.utils.generic import concrete_type
    from verifiers.v1.utils.loaders import environment_class, load_environment

    name = request["id"]
    try:
        environment = environment_class(name)
        config = concrete_type(environment, EnvConfig, origin=Env) or EnvConfig
        roles = [key for key, field in config.model_fields.items() if isinstance(field.default, AgentConfig)]
        role = {"harness": {"id": "agl_chat"}, "runtime": {"type": "subprocess"}, "max_turns": request["maxTurns"]}
        taskset = {**request["args"], "id": name}
        loaded = load_environment(config.model_validate({"taskset": taskset, **dict.fromkeys(roles, role)}))
        return loaded, Tasks(loaded.taskset)
    except ModuleNotFoundError as error:
        remedy = f"Install the package of {name} for {sys.executable}, or correct `id`."
        raise LoadError(str(error), remedy) from error
    except Exception as error:
        raise LoadError(f"{type(error).__name__}: {error}", "Correct `id` and `args`.") from error


class TaskError(Exception):
    """The taskset has no such task, or this environment cannot play it."""


class Tasks:
    """The tasks of a taskset by index, also of one without an end."""

    def __init__(self, taskset):
        self._iterator, self._tasks, self._failure = iter(taskset), [], None

    def at(self, index):
        if index < 0:
            raise TaskError("the first task of a taskset has index 0")
        while len(self._tasks) <= index:
            if self._failure is not None:
                raise self._failure
            try:
                self._tasks.append(next(self._iterator))
            except StopIteration:
                raise TaskError(f"the taskset has {len(self._tasks)} tasks") from None
            except Exception as error:
                # A generator that has failed then ends, as if the taskset had no further tasks.
                self._failure = error
                raise
        task = self._tasks[index]
        if task.data.image is not None or type(task).NEEDS_CONTAINER:
            raise TaskError("it needs a container, and this environment starts none")
        return task


def result_of(episode):
    errors = [*(error for trace in episode.traces for error in trace.errors), *episode.errors]
    if errors:
        error = errors[0]
        kind = "model" if error.type == "ProviderError" else "environment"
        return {"error": f"{error.type}: {error.message}", "kind": kind, "status": error.status_code}
    trained = [trace for trace in episode.traces if trace.agent is None or trace.agent.trainable]
    if len(trained) != 1:
        error = f"{len(trained)} of its agents are trained, and one must be"
        return {"error": error, "kind": "task", "status": None}
    reward = float(trained[0].reward)
    if not isfinite(reward):
        return {"error": f"its reward is {reward}, which is not a finite number", "kind": "environment", "status": None}
    return {"reward": reward}


async def play(environment, tasks, request):
    from verifiers.v1.clients import EvalClientConfig, ModelContext
    from verifiers.v1.types import SamplingConfig

    # The library reads keys from the environment, and hides variables with such a name from the programs that it starts.
    variable = f"AGL_API_KEY_{request['rollout']}"
    os.environ[variable] = request["apiKey"]
    try:
        client = EvalClientConfig(base_url=request["baseUrl"], api_key_var=variable)
        context = ModelContext(client=client, model=request["model"], sampling=SamplingConfig())
        (slot,) = environment.slots(tasks.at(request["index"]))
        return result_of(await environment.run_slot(slot, context))
    except TaskError as error:
        return {"error": str(error), "kind": "task", "status": None}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}", "kind": "environment", "status": None}
    finally:
        del os.environ[variable]


async def serve(lines, environment, tasks):
    playing = {}

    async def answer(request):
        respond({"rollout": request["rollout"], **await play(environment, tasks, request)})

    while line := await lines.readline():
        request = json.loads(line)
        if "cancel" in request:
            if task := playing.get(request["cancel"]):
                task.cancel()
            continue
        task = playing[request["rollout"]] = asyncio.create_task(answer(request))
        task.add_done_callback(lambda _, rollout=request["rollout"]: playing.pop(rollout, None))
    for task in playing.values():
        task.cancel()


async def main():
    lines = asyncio.StreamReader(limit=2**24)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    try:
        environment, tasks = load(json.loads(await lines.readline()))
    except LoadError as error:
        respond({"error": str(error), "remedy": error.remedy})
        return
    async with environment.serving():
        respond({"ready": True})
        await serve(lines, environment, tasks)


asyncio.run(main())
