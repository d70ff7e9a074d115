import type { AgentLightningError, JsonObject, JsonValue } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import type {
  Environment,
  EnvironmentAction,
  EnvironmentFactory,
  EnvironmentStep,
  EnvironmentTool,
  OperationContext,
} from '../environment/environment.ts';
import { environmentFailure } from '../environment/environment-failure.ts';

/** A tool of an environment that a framework can run: the shape that most frameworks accept with other names. */
export interface ExecutableTool extends EnvironmentTool {
  /**
   * Calls the tool and returns the observation. Calls of an episode run one after another, also when a framework makes
   * them in parallel.
   *
   * @throws AgentLightningError ENVIRONMENT_FAILED when the environment is broken
   */
  readonly execute: (args: unknown) => Promise<string>;
}

/** Options of an {@link Episode}. */
export interface EpisodeOptions {
  /** Aborts the episode. */
  readonly signal: AbortSignal;
  /** Time limit of each operation, in milliseconds. */
  readonly operationTimeoutMs: number;
  /** Called with the reward of each step that does not end the episode. */
  readonly onReward: (reward: number) => void;
}

/** Time limit of closing an environment, in milliseconds. */
const closeTimeoutMs = 10_000;

const isOver: EnvironmentStep = { observation: 'The episode is over.', reward: null, done: true };

/** An agent's view of one environment: its first observation, its tools, and what happened so far. */
export class Episode {
  readonly #environment: Environment<never>;
  readonly #name: string;
  readonly #options: EpisodeOptions;
  /** The end of the last operation, after which the next one starts. */
  #last: Promise<unknown> = Promise.resolve();
  #failure: AgentLightningError | null = null;
  #observation = '';
  #tools: readonly ExecutableTool[] = [];
  #total: number | null = null;
  #steps = 0;
  #isDone = false;

  private constructor(name: string, environment: Environment<never>, options: EpisodeOptions) {
    this.#name = name;
    this.#environment = environment;
    this.#options = options;
  }

  /**
   * Creates an environment and starts an episode. It must be closed, which {@link withEnvironment} does.
   *
   * @throws AgentLightningError ENVIRONMENT_FAILED when the environment does not start
   */
  static async start<TTask>(
    factory: EnvironmentFactory<TTask>,
    task: TTask,
    options: EpisodeOptions,
  ): Promise<Episode> {
    const environment = factory.create();
    const episode = new Episode(factory.name, environment as Environment<never>, options);
    try {
      episode.#observation = await episode.#run('reset', (context) =>
        environment.reset(task, { ...context, seed: seedOf(task) }),
      );
      episode.#tools = environment.tools().map((tool) => episode.#executable(tool));
      return episode;
    } catch (error) {
      await episode.close().catch(() => undefined);
      throw error;
    }
  }

  /** What the task asks for: the first message to the model. */
  get observation(): string {
    return this.#observation;
  }

  /** The tools of the environment. */
  get tools(): readonly ExecutableTool[] {
    return this.#tools;
  }

  /** Whether the environment has ended the episode. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** The sum of the rewards so far; null without any. */
  get reward(): number | null {
    return this.#total;
  }

  /** Number of actions so far. */
  get steps(): number {
    return this.#steps;
  }

  /** The failure of the environment; null while it works. */
  get failure(): AgentLightningError | null {
    return this.#failure;
  }

  /** Performs an action. After the end of the episode it has no effect. */
  act(action: EnvironmentAction): Promise<EnvironmentStep> {
    return this.#queue(async () => {
      if (this.#isDone) return isOver;
      const operation = action.type === 'message' ? 'a message' : `tool ${action.name}`;
      const step = await this.#run(operation, (context) => this.#environment.step(action, context));
      this.#steps += 1;
      this.#isDone = step.done;
      if (step.reward !== null) {
        this.#checkReward(operation, step.reward);
        this.#total = (this.#total ?? 0) + step.reward;
        if (!step.done) this.#options.onReward(step.reward);
      }
      return step;
    });
  }

  /** Sends a message of the agent to the environment, such as its answer. */
  send(text: string): Promise<EnvironmentStep> {
    return this.act({ type: 'message', text });
  }

  /** The state of the environment. */
  state(): Promise<JsonValue> {
    return this.#queue(() => this.#run('state', (context) => this.#environment.state(context)));
  }

  /** Closes the environment. */
  async close(): Promise<void> {
    const closing = this.#environment.close();
    await this.#run('close', () => closing, { timeoutMs: closeTimeoutMs, isAbortable: false });
  }

  #executable(tool: EnvironmentTool): ExecutableTool {
    return {
      ...tool,
      execute: async (args) => {
        const given = args ?? {};
        if (!isJsonObject(given as JsonValue)) return `The arguments of ${tool.name} must be an object.`;
        const step = await this.act({ type: 'tool-call', name: tool.name, arguments: given as JsonObject });
        return step.observation;
      },
    };
  }

  #queue<TResult>(operation: () => Promise<TResult>): Promise<TResult> {
    const result = this.#last.then(operation);
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** Runs an operation within its time limit; any error breaks the environment for good. */
  async #run<TResult>(
    operation: string,
    run: (context: OperationContext) => Promise<TResult>,
    { timeoutMs = this.#options.operationTimeoutMs, isAbortable = true } = {},
  ): Promise<TResult> {
    const { signal } = this.#options;
    if (this.#failure !== null && isAbortable) throw this.#failure;
    if (isAbortable) signal.throwIfAborted();
    const timeout = AbortSignal.timeout(timeoutMs);
    const ended = isAbortable ? AbortSignal.any([signal, timeout]) : timeout;
    try {
      return await Promise.race([run({ signal: ended }), rejectedBy(ended, timeout, timeoutMs)]);
    } catch (error) {
      // The end of the rollout is not a failure of the environment.
      if (isAbortable && signal.aborted) throw signal.reason;
      this.#failure ??= environmentFailure(this.#name, operation, { cause: error });
      throw this.#failure;
    }
  }

  #checkReward(operation: string, reward: number): void {
    if (Number.isFinite(reward)) return;
    this.#failure = environmentFailure(this.#name, operation, {
      cause: new Error(`its reward is ${reward}, which is not a finite number`),
    });
    throw this.#failure;
  }
}

function rejectedBy(ended: AbortSignal, timeout: AbortSignal, timeoutMs: number): Promise<never> {
  return new Promise((_, reject) => {
    const fail = (): void => reject(timeout.aborted ? new Error(`no response within ${timeoutMs} ms`) : ended.reason);
    if (ended.aborted) fail();
    else ended.addEventListener('abort', fail, { once: true });
  });
}

/** The seed of a task: the 31-bit FNV-1a hash of its JSON. */
function seedOf(task: unknown): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(JSON.stringify(task) ?? '')) {
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  return hash >>> 1;
}
