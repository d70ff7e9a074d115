import { AgentLightningError, type JsonObject, type JsonValue } from '@agentlightning/core';
import { fieldsOf } from '@agentlightning/core/internal';
import type {
  Environment,
  EnvironmentAction,
  EnvironmentFactory,
  EnvironmentStep,
  EnvironmentTool,
  OperationContext,
  ResetContext,
} from '../environment/environment.ts';
import { McpConnection } from './mcp-connection.ts';
import type { ServerCommand, ServerUrl } from './server-process.ts';

/** Calls a tool of a server; returns the text of its result, also of an error that the tool reports. */
export type CallMcpTool = (tool: string, args: JsonObject) => Promise<string>;

/** The end of an episode on an MCP server. */
export interface McpEpisodeEnd<TTask> {
  /** The task. */
  readonly task: TTask;
  /** The last message of the agent. */
  readonly answer: string;
  /** Calls tools of the episode's server, such as to read what the agent changed. */
  readonly callTool: CallMcpTool;
}

/** Options of {@link mcpEnvironment}: the server, by its command or its URL, and how tasks use it. */
export type McpEnvironmentOptions<TTask> = (ServerCommand | ServerUrl) & {
  /** The offered tools, by name. @default all */
  readonly tools?: readonly string[];
  /**
   * Whether calls change nothing that another call could see. Then all rollouts of a process share one server, which saves
   * its start for each rollout.
   *
   * @default false: each rollout has a fresh process, or a separate session at a URL. What a process writes to files outlasts it, unless
   * they are in `{folder}`
   */
  readonly stateless?: boolean;
  /** The first message to the model. @default the task if it is a text, or its `question`, `prompt` or `input` */
  readonly prompt?: (task: TTask) => string;
  /** Prepares the world of a task by tool calls, before the agent sees it. @default nothing */
  readonly prepare?: (task: TTask, callTool: CallMcpTool) => Promise<void>;
};

/** {@link McpEnvironmentOptions} with a reward of the episode's end. */
export type RewardedMcpOptions<TTask> = McpEnvironmentOptions<TTask> & {
  /** The reward at the end, from the answer and what the agent left on the server. */
  readonly reward: (end: McpEpisodeEnd<TTask>) => number | Promise<number>;
};

type AnyOptions<TTask> = McpEnvironmentOptions<TTask> & Partial<Pick<RewardedMcpOptions<TTask>, 'reward'>>;

/**
 * The tools of an MCP server as an environment. A message of the agent without a tool call is its answer, which ends the episode. Without
 * `reward`, the configuration's `reward` scores the answer.
 *
 * Servers that a command starts end with their rollout, with the trainer, and when the trainer is killed.
 *
 * @throws AgentLightningError CONFIG for an invalid URL or an empty command; ENVIRONMENT_FAILED from a rollout whose server does
 * not start, crashes, or does not offer one of `tools`
 *
 * @example
 * ```ts
 * const memory = mcpEnvironment<Task>({
 *   command: 'npx',
 *   args: ['-y', '@modelcontextprotocol/server-memory'],
 *   env: { MEMORY_FILE_PATH: '{folder}/memory.jsonl' },
 * });
 * export default defineConfig({
 *   agent: playEnvironment(memory),
 *   reward,
 *   tasks: { train: 'tasks/train.jsonl', test: 'tasks/test.jsonl' },
 * });
 * ```
 */
export function mcpEnvironment<TTask>(options: RewardedMcpOptions<TTask>): EnvironmentFactory<TTask, true>;
/** The tools of an MCP server as an environment without rewards. */
export function mcpEnvironment<TTask>(options: McpEnvironmentOptions<TTask>): EnvironmentFactory<TTask, false>;
export function mcpEnvironment<TTask>(options: AnyOptions<TTask>): EnvironmentFactory<TTask> {
  assertServer(options);
  const server = new McpServer(options);
  return {
    name: server.name,
    givesRewards: options.reward !== undefined,
    create: () => new McpEnvironment(server, options),
    close: () => server.close(),
  };
}

/** Opens the connections of rollouts. */
class McpServer {
  readonly name: string;
  readonly #options: AnyOptions<never>;
  #shared: Promise<McpConnection> | null = null;

  constructor(options: AnyOptions<never>) {
    this.#options = options;
    this.name = 'url' in options ? options.url : [options.command, ...(options.args ?? [])].join(' ');
  }

  /** A connection for an episode, and what releases it. */
  async open(signal: AbortSignal): Promise<{ readonly connection: McpConnection; release(): Promise<void> }> {
    signal.throwIfAborted();
    if (this.#options.stateless !== true) {
      const connection = await McpConnection.open(this.name, this.#options, signal);
      return { connection, release: () => connection.close() };
    }
    const connection = await this.#open();
    return { connection, release: async () => {} };
  }

  async close(): Promise<void> {
    const shared = this.#shared;
    this.#shared = null;
    const connection = await shared?.catch(() => null);
    await connection?.close();
  }

  /** The shared connection; a new one after a crash. The end of one rollout must not abort its start for others. */
  async #open(): Promise<McpConnection> {
    const current = this.#shared;
    const connection = await current?.catch(() => null);
    if (connection?.isOpen === true) return connection;
    if (this.#shared === current) {
      this.#shared = McpConnection.open(this.name, this.#options, new AbortController().signal);
    }
    return this.#shared ?? this.#open();
  }
}

class McpEnvironment<TTask> implements Environment<TTask> {
  readonly #server: McpServer;
  readonly #options: AnyOptions<TTask>;
  #opened: Awaited<ReturnType<McpServer['open']>> | null = null;
  #task: TTask | null = null;

  constructor(server: McpServer, options: AnyOptions<TTask>) {
    this.#server = server;
    this.#options = options;
  }

  async reset(task: TTask, { signal }: ResetContext): Promise<string> {
    const { prompt = promptOf, prepare } = this.#options;
    const text = prompt(task);
    await this.close();
    this.#opened = await this.#server.open(signal);
    this.#task = task;
    this.tools();
    await prepare?.(task, this.#callWith(signal));
    return text;
  }

  tools(): readonly EnvironmentTool[] {
    const all = this.#connection().tools;
    const { tools: names } = this.#options;
    if (names === undefined) return all;
    return names.map((name) => {
      const tool = all.find((each) => each.name === name);
      if (tool === undefined) throw missingTool(this.#server.name, name, all);
      return tool;
    });
  }

  async step(action: EnvironmentAction, { signal }: OperationContext): Promise<EnvironmentStep> {
    if (action.type === 'message') return this.#finish(action.text, signal);
    const { name } = action;
    if (!this.tools().some((tool) => tool.name === name)) {
      return { observation: `There is no tool "${name}".`, reward: null, done: false };
    }
    const { text } = await this.#connection().call(name, action.arguments, signal);
    return { observation: text, reward: null, done: false };
  }

  async state(): Promise<JsonValue> {
    const { calls, pid } = this.#connection();
    return { calls, pid };
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = null;
    await opened?.release();
  }

  async #finish(answer: string, signal: AbortSignal): Promise<EnvironmentStep> {
    signal.throwIfAborted();
    this.#connection();
    const end = { task: this.#task as TTask, answer, callTool: this.#callWith(signal) };
    return { observation: '', reward: (await this.#options.reward?.(end)) ?? null, done: true };
  }

  #callWith(signal: AbortSignal): CallMcpTool {
    return async (tool, args) => (await this.#connection().call(tool, args, signal)).text;
  }

  #connection(): McpConnection {
    if (this.#opened !== null) return this.#opened.connection;
    throw new AgentLightningError({
      code: 'ENVIRONMENT_FAILED',
      message: `Environment "${this.#server.name}" is closed, or no episode was started`,
      remedy: 'Call `reset` first.',
    });
  }
}

/** The prompt of a task by convention. */
function promptOf(task: unknown): string {
  if (typeof task === 'string') return task;
  const { question, prompt, input } = fieldsOf(task) as Readonly<Record<string, unknown>>;
  const text = [question, prompt, input].find((value) => typeof value === 'string');
  if (typeof text === 'string') return text;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: 'A task of `mcpEnvironment` has no text `question`, `prompt` or `input`',
    remedy: 'Pass `prompt: (task) => …`.',
  });
}

function assertServer(options: ServerCommand | ServerUrl): void {
  const problem =
    'url' in options
      ? URL.canParse(options.url) && /^https?:$/.test(new URL(options.url).protocol)
        ? null
        : `\`url\` is not an HTTP address: ${options.url}`
      : options.command.trim() === ''
        ? '`command` is empty'
        : null;
  if (problem === null) return;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `${problem}, in \`mcpEnvironment\``,
    remedy: "Pass `command: 'npx'` with `args`, or `url: 'http://127.0.0.1:3001/mcp'`.",
  });
}

function missingTool(server: string, name: string, tools: readonly EnvironmentTool[]): AgentLightningError {
  return new AgentLightningError({
    code: 'ENVIRONMENT_FAILED',
    message: `MCP server "${server}" has no tool "${name}". It has: ${tools.map((tool) => tool.name).join(', ')}`,
    remedy: 'Correct `tools` of `mcpEnvironment`.',
  });
}
