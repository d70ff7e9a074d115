import { fileURLToPath } from 'node:url';
import { AgentLightningError, currentRollout, type JsonObject } from '@agentlightning/core';
import { ModelCallError, noModel } from './play/chat-model.ts';
import { BridgeProcess, type BridgeProgram, type BridgeResult } from './verifiers/bridge-process.ts';

/** Options of {@link verifiersEnvironment}. */
export interface VerifiersOptions {
  /** The id of a taskset: one of the library, such as `textarena`, or the name of an installed package or module. */
  readonly id: string;
  /** The configuration of the taskset, such as `{ game: 'Wordle-v0' }`. @default its defaults */
  readonly args?: JsonObject;
  /** Largest number of model calls of a rollout. @default 10 */
  readonly maxTurns?: number;
  /** The Python executable that has `verifiers` and the taskset. @default 'python3' */
  readonly python?: string;
}

/** A task of {@link verifiersEnvironment}. */
export interface VerifiersTask {
  /** Its position in the taskset, from 0. */
  readonly index: number;
}

/** An environment of verifiers. */
export interface VerifiersEnvironment {
  /** The agent for `defineConfig`: the model in training plays a task, and the result is the reward of the taskset. */
  readonly agent: (task: VerifiersTask) => Promise<number>;
  /** The tasks from one position to before another one. A taskset without an end has all of them. */
  tasks(from: number, to: number): readonly VerifiersTask[];
  /** Ends the Python process; the next rollout starts it again. It also ends with this process, however that ends. */
  close(): Promise<void>;
}

/** In the package, beside the folder of this module: `src` or `dist`. */
const program = fileURLToPath(new URL('../python/verifiers_bridge.py', import.meta.url));

/**
 * The environment of a taskset of [verifiers](https://github.com/PrimeIntellect-ai/verifiers) 0.4, with its tools and its rewards. The
 * rollouts are played in a Python process, one for each worker process. A model call goes to the model in training.
 *
 * The model plays as a chat on this machine. A task that needs a container fails, with the reason.
 *
 * @throws AgentLightningError CONFIG for wrong options. From a rollout: CONFIG when Python, the package or the taskset is missing, or the taskset has no
 * such task; ENVIRONMENT_FAILED when the environment or the process fails, a failure of the infrastructure and never a reward
 *
 * @example
 * ```ts
 * const wordle = verifiersEnvironment({ id: 'textarena', args: { game: 'Wordle-v0' }, python: '.venv/bin/python' });
 *
 * export default defineConfig({
 *   agent: wordle.agent,
 *   tasks: { train: wordle.tasks(0, 256), test: wordle.tasks(256, 320) },
 * });
 * ```
 */
export function verifiersEnvironment(options: VerifiersOptions): VerifiersEnvironment {
  const { id, args = {}, maxTurns = 10, python = 'python3' } = options;
  checkOptions(id, maxTurns);
  const bridge = new SharedBridge({ python, program, request: { id, args, maxTurns } });
  return {
    agent: async ({ index }) => {
      const rollout = currentRollout();
      const endpoint = rollout?.endpoint ?? null;
      if (rollout === null || endpoint === null) throw noModel();
      const { baseUrl, model, apiKey } = endpoint;
      const process = await bridge.open(rollout.signal);
      const result = await process.play({ index, baseUrl, model, apiKey: apiKey ?? 'none' }, rollout.signal);
      if ('reward' in result) return result.reward;
      throw rolloutFailure(id, index, result);
    },
    tasks: (from, to) => Array.from({ length: Math.max(0, to - from) }, (_, offset) => ({ index: from + offset })),
    close: () => bridge.close(),
  };
}

/** The bridge of all rollouts of this process. */
class SharedBridge {
  readonly #program: BridgeProgram;
  #bridge: BridgeProcess | null = null;

  constructor(program: BridgeProgram) {
    this.#program = program;
  }

  /** The running bridge. After a crash or a failed start, the next rollout starts it again. */
  async open(signal: AbortSignal): Promise<BridgeProcess> {
    signal.throwIfAborted();
    if (this.#bridge?.isOpen !== true) this.#bridge = BridgeProcess.start(this.#program);
    const bridge = this.#bridge;
    await untilAborted(bridge.ready, signal);
    return bridge;
  }

  /** Also ends a bridge that starts, and fails the rollouts that wait for it. */
  async close(): Promise<void> {
    const bridge = this.#bridge;
    this.#bridge = null;
    await bridge?.close();
  }
}

async function untilAborted<TResult>(promise: Promise<TResult>, signal: AbortSignal): Promise<TResult> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function rolloutFailure(
  id: string,
  index: number,
  { error, kind, status }: Exclude<BridgeResult, { readonly reward: number }>,
): AgentLightningError {
  if (kind === 'model' && status !== null) return new ModelCallError(status, error);
  const message = `Task ${index} of taskset "${id}" failed: ${error}`;
  if (kind === 'task') {
    return new AgentLightningError({ code: 'CONFIG', message, remedy: 'Choose other tasks, or another taskset.' });
  }
  return new AgentLightningError({ code: 'ENVIRONMENT_FAILED', message });
}

function checkOptions(id: string, maxTurns: number): void {
  if (id === '') {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: '`id` of `verifiersEnvironment` must not be empty',
      remedy: 'Pass the id of a taskset, such as `textarena`.',
    });
  }
  if (!(Number.isInteger(maxTurns) && maxTurns >= 1)) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `\`maxTurns\` of \`verifiersEnvironment\` must be a whole number from 1, not ${maxTurns}`,
      remedy: 'Set the largest number of model calls of a rollout.',
    });
  }
}
