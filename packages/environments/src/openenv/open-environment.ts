import { AgentLightningError, type JsonObject, type JsonValue } from '@agentlightning/core';
import { errorMessage, parse, textOf } from '@agentlightning/core/internal';
import { z } from 'zod';
import type {
  Environment,
  EnvironmentAction,
  EnvironmentFactory,
  EnvironmentStep,
  EnvironmentTool,
  OperationContext,
  ResetContext,
} from '../environment/environment.ts';
import { type ActionForm, actionForm, serverAction, toolsOf } from './action-form.ts';
import { observationText } from './observation-text.ts';
import { OpenEnvSocket } from './openenv-socket.ts';

/** Options of {@link openEnvironment}. */
export interface OpenEnvironmentOptions<TTask = JsonObject> {
  /** The address of the server, such as `http://127.0.0.1:8000`. */
  readonly url: string;
  /** Headers of each connection, such as an authorisation. @default none */
  readonly headers?: Readonly<Record<string, string>>;
  /** The text of an observation for the model. @default its only text, the result of a tool call, or JSON */
  readonly observe?: (observation: JsonObject) => string;
  /** The first message to the model, from the task and the text of the first observation. @default the observation */
  readonly prompt?: (task: TTask, observation: string) => string;
}

/**
 * The environment of an OpenEnv server, by its WebSocket protocol. Each rollout has a session, and with it an instance on the
 * server. The fields of a task are the parameters of `reset`, where the server accepts them; `seed` is derived from the task unless it has one.
 *
 * The schema of its actions decides how the model acts: by messages where an action has one required text, by the tools of an MCP environment, or by a tool
 * `act` whose arguments are the fields of the action. In the last two, a message without a call ends the episode.
 *
 * @throws AgentLightningError CONFIG for an invalid URL; ENVIRONMENT_FAILED from a rollout whose server is away, full, or fails
 *
 * @example
 * ```ts
 * export default defineConfig({
 *   agent: playEnvironment(openEnvironment({ url: 'http://127.0.0.1:8000' }), { maxTurns: 20 }),
 *   tasks: { train: 'tasks/train.jsonl', test: 'tasks/test.jsonl' },
 * });
 * ```
 */
export function openEnvironment<TTask extends JsonObject = JsonObject>(
  options: OpenEnvironmentOptions<TTask>,
): EnvironmentFactory<TTask, true> {
  const urls = serverUrls(options.url);
  const form = new FormOfServer(urls.schema, options.headers ?? {});
  return {
    name: options.url,
    givesRewards: true,
    create: () => new OpenEnvironment({ options, form, url: urls.socket }),
    close: async () => {},
  };
}

const schemaResponse = z.looseObject({ action: z.record(z.string(), z.json()) });

/** Reads the form of actions once. */
class FormOfServer {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  #form: ActionForm | null = null;

  constructor(url: string, headers: Readonly<Record<string, string>>) {
    this.#url = url;
    this.#headers = headers;
  }

  async read(signal: AbortSignal): Promise<ActionForm> {
    if (this.#form !== null) return this.#form;
    const response = await fetch(this.#url, { headers: { ...this.#headers }, signal }).catch((cause: unknown) => {
      signal.throwIfAborted();
      throw unreachable(this.#url, errorMessage(cause instanceof Error ? (cause.cause ?? cause) : cause), cause);
    });
    const text = await response.text();
    if (!response.ok) throw unreachable(this.#url, `HTTP ${response.status}: ${text.slice(0, 200)}`);
    const { action } = parse(schemaResponse, JSON.parse(text), `response of ${this.#url}`);
    this.#form = actionForm(action);
    return this.#form;
  }
}

const stepData = z.looseObject({
  observation: z.record(z.string(), z.json()),
  reward: z.union([z.number(), z.boolean()]).nullish(),
  done: z.boolean().default(false),
});

interface OpenEnvironmentParts<TTask> {
  readonly options: OpenEnvironmentOptions<TTask>;
  readonly form: FormOfServer;
  readonly url: string;
}

class OpenEnvironment<TTask extends JsonObject> implements Environment<TTask> {
  readonly #parts: OpenEnvironmentParts<TTask>;
  #socket: OpenEnvSocket | null = null;
  #form: ActionForm = { type: 'tools' };
  #tools: readonly EnvironmentTool[] = [];

  constructor(parts: OpenEnvironmentParts<TTask>) {
    this.#parts = parts;
  }

  async reset(task: TTask, { signal, seed }: ResetContext): Promise<string> {
    const { form, url, options } = this.#parts;
    await this.close();
    this.#form = await form.read(signal);
    this.#socket = await OpenEnvSocket.connect(url, { headers: options.headers ?? {}, signal });
    const data = await this.#request({ type: 'reset', data: { seed, ...task } }, signal);
    this.#tools = await this.#readTools(signal);
    const { observation } = this.#stepOf(data);
    return options.prompt?.(task, observation) ?? observation;
  }

  tools(): readonly EnvironmentTool[] {
    return this.#tools;
  }

  async step(action: EnvironmentAction, { signal }: OperationContext): Promise<EnvironmentStep> {
    signal.throwIfAborted();
    const sent = serverAction(this.#form, action);
    if (typeof sent === 'string') return { observation: sent, reward: null, done: action.type === 'message' };
    const data = await this.#request({ type: 'step', data: sent }, signal);
    if ('invalid' in data) return { observation: String(data.invalid), reward: null, done: false };
    return this.#stepOf(data);
  }

  async state({ signal }: OperationContext): Promise<JsonValue> {
    return await this.#request({ type: 'state' }, signal);
  }

  async close(): Promise<void> {
    const socket = this.#socket;
    this.#socket = null;
    await socket?.close();
  }

  async #readTools(signal: AbortSignal): Promise<readonly EnvironmentTool[]> {
    if (this.#form.type === 'message') return [];
    if (this.#form.type === 'fields') return [this.#form.tool];
    const data = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
    return toolsOf(await this.#request({ type: 'mcp', data }, signal));
  }

  /** The data of the response; `{ invalid }` for an action that the schema of the server refuses. */
  async #request(message: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    if (this.#socket === null) throw serverFailure(this.#parts.options.url, 'its session is closed');
    const { type, data } = await this.#socket.request(message, signal);
    if (type !== 'error') return data;
    const code = textOf(data.code) ?? 'unknown';
    const text = textOf(data.message) ?? JSON.stringify(data);
    if (message.type === 'step' && code === 'VALIDATION_ERROR') {
      return { invalid: `The action is not valid: ${JSON.stringify(data.errors ?? text)}` };
    }
    throw serverFailure(this.#parts.options.url, `${code}: ${text}`);
  }

  #stepOf(data: JsonObject): EnvironmentStep {
    const { observation, reward, done } = parse(stepData, data, 'observation of the OpenEnv server');
    const { observe = observationText } = this.#parts.options;
    return {
      observation: observe(observation),
      reward: typeof reward === 'boolean' ? Number(reward) : (reward ?? null),
      done,
    };
  }
}

/** The addresses of a server. */
function serverUrls(text: string): { readonly schema: string; readonly socket: string } {
  const isValid = URL.canParse(text) && /^(http|ws)s?:$/.test(new URL(text).protocol);
  if (!isValid) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `\`url\` of \`openEnvironment\` is not an address: ${text}`,
      remedy: 'Pass the address of the server, such as `http://127.0.0.1:8000`.',
    });
  }
  const base = text.replace(/\/+$/, '');
  return { schema: `${base.replace(/^ws/, 'http')}/schema`, socket: `${base.replace(/^http/, 'ws')}/ws` };
}

function unreachable(url: string, problem: string, cause?: unknown): AgentLightningError {
  return new AgentLightningError({
    code: 'ENVIRONMENT_FAILED',
    message: `OpenEnv server does not respond at ${url}: ${problem}`,
    remedy: 'Start the server, such as `uvicorn server.app:app --port 8000`, and check its address.',
    cause,
  });
}

function serverFailure(url: string, problem: string): AgentLightningError {
  const isFull = problem.startsWith('CAPACITY_REACHED');
  return new AgentLightningError({
    code: 'ENVIRONMENT_FAILED',
    message: `OpenEnv server at ${url} failed: ${problem}`,
    remedy: isFull
      ? 'Raise `max_concurrent_envs` of the server, or lower `agents.concurrency` of the configuration.'
      : 'Read the log of the server.',
  });
}
