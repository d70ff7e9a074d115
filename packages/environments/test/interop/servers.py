"""OpenEnv servers of four environments, on free ports of the loopback. It prints a line of JSON with their addresses."""

import json
import os
import socket
import sys
import threading

import uvicorn
from fastmcp import FastMCP
from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app
from openenv.core.env_server.mcp_environment import MCPEnvironment
from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation


class GuessAction(Action):
    """A guess in words."""

    text: str


class GuessObservation(Observation):
    reply: str


class GuessEnvironment(Environment):
    """Guess a number from 0 to 9, which is the seed modulo 10. `limit` guesses are allowed."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self._secret, self._limit, self._guesses = 0, 0, []

    def reset(self, seed=None, episode_id=None, limit=3, **kwargs):
        self._secret, self._limit, self._guesses = (seed or 0) % 10, limit, []
        return GuessObservation(reply=f"Guess a digit, {limit} times.")

    def step(self, action, timeout_s=None, **kwargs):
        if action.text == "crash":
            raise RuntimeError("the dice are lost")
        if action.text == "exit":
            os._exit(3)
        if action.text == "hang":
            threading.Event().wait()
        if action.text == "which?":
            return GuessObservation(reply=" ".join(self._guesses) or "none")
        self._guesses.append(action.text)
        is_right = action.text == str(self._secret)
        is_over = is_right or len(self._guesses) >= self._limit
        return GuessObservation(reply="right" if is_right else "wrong", reward=1.0 if is_right else 0.0, done=is_over)

    @property
    def state(self):
        return State(step_count=len(self._guesses))


class MoveAction(Action):
    """Moves on a grid."""

    x: int
    y: int


class MoveObservation(Observation):
    x: int
    y: int


class MoveEnvironment(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def reset(self, seed=None, episode_id=None, **kwargs):
        self._x, self._y = 0, 0
        return MoveObservation(x=0, y=0)

    def step(self, action, timeout_s=None, **kwargs):
        self._x, self._y = self._x + action.x, self._y + action.y
        is_there = (self._x, self._y) == (2, 2)
        return MoveObservation(x=self._x, y=self._y, reward=is_there, done=is_there)

    @property
    def state(self):
        return State()


class EchoEnvironment(Environment):
    """A name is shown, which is to be repeated: 0.5 for its letter and 0.5 for its digit."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def reset(self, seed=None, episode_id=None, **kwargs):
        letter, digit = divmod((seed or 0) % 260, 10)
        self._name = f"{chr(65 + letter)}{digit}"
        return GuessObservation(reply=f"My name is {self._name}. Name?")

    def step(self, action, timeout_s=None, **kwargs):
        said = action.text.strip()
        reward = 0.5 * (said[:1] == self._name[0]) + 0.5 * (said[1:] == self._name[1])
        return GuessObservation(reply="", reward=reward, done=True)

    @property
    def state(self):
        return State()


class ToolEnvironment(MCPEnvironment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        server = FastMCP("tools")

        @server.tool
        def add(a: int, b: int) -> int:
            """Adds two numbers."""
            return a + b

        super().__init__(server)

    def reset(self, seed=None, episode_id=None, **kwargs):
        return Observation(metadata={"status": "ready"})

    def _step_impl(self, action, timeout_s=None, **kwargs):
        return Observation(done=False)

    @property
    def state(self):
        return State()


def start(environment, action, observation, sessions):
    app = create_fastapi_app(environment, action, observation, max_concurrent_envs=sessions)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True).start()
    while not server.started:
        threading.Event().wait(0.01)
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


print(
    json.dumps(
        {
            "guess": start(GuessEnvironment, GuessAction, GuessObservation, 8),
            "single": start(GuessEnvironment, GuessAction, GuessObservation, 1),
            "echo": start(EchoEnvironment, GuessAction, GuessObservation, 64),
            "move": start(MoveEnvironment, MoveAction, MoveObservation, 8),
            "tools": start(ToolEnvironment, CallToolAction, CallToolObservation, 8),
        }
    ),
    flush=True,
)
sys.stdin.read()
