import { AgentLightningError, type JsonObject, type JsonValue } from '@agentlightning/core';
import { assertKeyIsEncrypted, systemClock, type TaskSchema } from '@agentlightning/core/internal';
import { type DataSetState, type RunInfo, serverRoutes } from '@agentlightning/core/protocol';
import { newId } from '@agentlightning/core/store';
import { StoreClient, StoreTransport } from '@agentlightning/core/store-client';
import type { Agent, OutputScoring } from '@agentlightning/runner';
import { clientVersion, requiredProtocol } from './client-version.ts';
import { type DataSet, readDataSet, type TaskSource, type UploadedData } from './data-set.ts';
import { ClientRun, type ServerConnection } from './run.ts';
import { RunWorker } from './worker/run-worker.ts';

/** Runs that are read at a time: the most that a server lists. */
const runsPerPage = 200;

/** Options of an {@link AgentLightningClient}. */
export interface ClientOptions {
  /** The URL of `agl server`: `https://train.example.com`. */
  readonly url: string;
  /** The key of the server, or a key of its store with the scope `trainer`, or `runner` to join runs. */
  readonly apiKey: string;
  /** Whether the key may be sent over plain `http:` to another machine, on a network that you trust. @default false */
  readonly allowInsecureKey?: boolean;
  /** Retry limit for requests to an unreachable server, in milliseconds. @default 120000 */
  readonly unreachableAfterMs?: number;
  /** Timeout of one request, in milliseconds. @default 60000 */
  readonly requestTimeoutMs?: number;
  /** @default the platform's */
  readonly fetch?: typeof globalThis.fetch;
}

/** Options of the worker of a client. */
export interface JoinOptions<TTask = unknown> {
  /**
   * Computes the reward from what the agent returns: a function, or parts by name. @default none: the agent returns its reward
   */
  readonly reward?: OutputScoring;
  /** Number of concurrent rollouts in this process. @default 4 */
  readonly concurrency?: number;
  /** Validates a task before the agent receives it; an error fails its rollout. @default the task unchanged */
  readonly parseTask?: (input: JsonValue) => TTask;
  /** Called with errors outside the outcome of a rollout, such as an unreachable server. @default ignored */
  readonly onError?: (error: AgentLightningError) => void;
}

/** Options of {@link AgentLightningClient.train}. */
export interface TrainOptions<TTask = unknown> extends JoinOptions<TTask> {
  /** The data sets. @default those of the last `uploadData` of this client */
  readonly data?: UploadedData;
  /** The id of the run: a second call with the same id joins the run. @default a new one */
  readonly runId?: string;
  /** @default 'run' */
  readonly name?: string;
  /** A name, or options with `type`: `{ type: 'grpo', groupSize: 8, learningRate: 1e-5 }`. @default that of the server */
  readonly algorithm?: string | JsonObject;
  /** Total number of training steps. @default that of the server, or 30 */
  readonly steps?: number;
  /** Number of tasks per step. @default that of the server, or 16 */
  readonly tasksPerStep?: number;
  /** Further keys of the training configuration, such as `sampling`, `evaluation` and `run` with a seed. @default {} */
  readonly training?: JsonObject;
}

/**
 * Client of a training server: uploads data, runs the agent on this machine, and trains its model there.
 *
 * @example
 * ```ts
 * const client = new AgentLightningClient({ url: 'http://localhost:4747', apiKey });
 * await client.uploadData({ train: 'tasks/train.jsonl', test: 'tasks/test.jsonl' });
 * const run = await client.train(agent, { concurrency: 4, algorithm: 'grpo', steps: 60 });
 * const { rewardBefore, rewardAfter, endpoint } = await run.result();
 * ```
 */
export class AgentLightningClient {
  readonly #server: ServerConnection;
  #data: UploadedData | null = null;
  #checked: Promise<void> | null = null;

  /** @throws AgentLightningError CONFIG for an invalid URL, and for a key that would be sent unencrypted to another machine */
  constructor(options: ClientOptions) {
    const { url, apiKey, fetch = globalThis.fetch } = options;
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) throw invalidUrl(url);
    if (options.allowInsecureKey !== true) {
      assertKeyIsEncrypted({ receiver: 'Server', url, option: 'allowInsecureKey' });
    }
    const connection = {
      baseUrl: url.replace(/\/+$/, ''),
      apiKey: apiKey.trim(),
      fetch,
      unreachableAfterMs: options.unreachableAfterMs ?? 120_000,
      requestTimeoutMs: options.requestTimeoutMs ?? 60_000,
    };
    this.#server = {
      transport: new StoreTransport({ ...connection, clock: systemClock, maxRetries: 0 }),
      store: new StoreClient({ ...connection, allowInsecureKey: true }),
      apiKey: connection.apiKey,
    };
  }

  /**
   * Validates and uploads data sets: lists, or JSON-lines files, which are streamed. Content that the server has is not sent
   * again, and an interrupted upload continues.
   *
   * @throws AgentLightningError TASK_FILE that names file, line and field of invalid tasks; nothing is uploaded then
   */
  async uploadData(
    sources: { readonly train: TaskSource; readonly test: TaskSource },
    { schema = null }: { readonly schema?: TaskSchema | null } = {},
  ): Promise<UploadedData> {
    const train = await readDataSet(sources.train, { name: 'train', schema });
    const test = await readDataSet(sources.test, { name: 'test', schema });
    await this.#checkServer();
    for (const dataSet of [train, test]) await this.#upload(dataSet);
    this.#data = { train: train.digest, test: test.digest };
    return this.#data;
  }

  /**
   * Creates a run, and works on it: rollouts run here, until the run has ended. Further clients {@link join}.
   *
   * @throws AgentLightningError CONFIG for an unknown or invalid setting, with the most similar known one
   */
  async train<TTask = unknown>(agent: Agent<TTask, unknown>, options: TrainOptions<TTask> = {}): Promise<ClientRun> {
    assertCurrentOptions(options);
    const { data = this.#data, name, algorithm, steps, tasksPerStep } = options;
    // JSON has the weights and ranges of the parts, and not their functions, which run here.
    const training = { ...(typeof options.reward === 'object' ? { reward: options.reward } : {}), ...options.training };
    if (data === null) throw noData();
    await this.#checkServer();
    const input = {
      runId: options.runId ?? newId('run'),
      data,
      ...(name === undefined ? {} : { name }),
      training: JSON.parse(JSON.stringify({ ...training, algorithm, steps, tasksPerStep })),
    };
    const { runId } = await this.#server.transport.call(serverRoutes.createRun, { input });
    return this.#working(runId, agent, options);
  }

  /**
   * Works on a run of another client, or of one that has died.
   *
   * @throws AgentLightningError NOT_FOUND
   */
  async join<TTask = unknown>(
    runId: string,
    agent: Agent<TTask, unknown>,
    options: JoinOptions<TTask> = {},
  ): Promise<ClientRun> {
    assertCurrentOptions(options);
    await this.#checkServer();
    await new ClientRun(this.#server, runId).info();
    return this.#working(runId, agent, options);
  }

  /** A run by its id, without working on it. */
  run(runId: string): ClientRun {
    return new ClientRun(this.#server, runId);
  }

  /** The runs of the server, newest first. */
  async runs(): Promise<readonly RunInfo[]> {
    await this.#checkServer();
    const runs = new Map<string, RunInfo>();
    for (let isLast = false; !isLast; ) {
      const input = { limit: runsPerPage, offset: runs.size };
      const page = await this.#server.transport.call(serverRoutes.listRuns, { input });
      const known = runs.size;
      // A run that was created meanwhile moves the others to the next page.
      for (const run of page) runs.set(run.runId, run);
      isLast = page.length < runsPerPage || runs.size === known;
    }
    return [...runs.values()];
  }

  #working<TTask>(runId: string, agent: Agent<TTask, unknown>, options: JoinOptions<TTask>): ClientRun {
    const { concurrency = 4, reward, parseTask, onError = () => undefined } = options;
    const { store, transport } = this.#server;
    const url = transport.baseUrl;
    const createWorker = (): RunWorker<TTask> =>
      new RunWorker({ store, url, runId, agent, reward, concurrency, parseTask, onError });
    const run = new ClientRun(this.#server, runId, createWorker);
    run.work();
    return run;
  }

  async #upload({ digest, totalBytes, parts }: DataSet): Promise<void> {
    let state = await this.#server.transport.call(serverRoutes.getDataSet, { parameters: [digest] });
    while (!state.isComplete) {
      const startedAt = state.offset;
      for await (const part of parts(state.offset)) {
        const expected = state.offset + part.byteLength;
        state = await this.#send(digest, { offset: state.offset, totalBytes, part });
        // Another client uploads the same content.
        if (state.isComplete || state.offset !== expected) break;
      }
      if (!state.isComplete && state.offset === startedAt) throw changedData();
    }
  }

  /** Sends a part. @returns what the server has received, which includes parts of other clients and lost responses */
  async #send(
    digest: string,
    { part, ...input }: { readonly offset: number; readonly totalBytes: number; readonly part: Uint8Array },
  ): Promise<DataSetState> {
    const bytes = new Uint8Array(part);
    try {
      return await this.#server.transport.call(serverRoutes.appendToDataSet, { parameters: [digest], input, bytes });
    } catch (error) {
      const received =
        AgentLightningError.isInstance(error) && error.code === 'CONFLICT' ? error.details['bytes'] : null;
      if (typeof received === 'number') return { offset: received, isComplete: false };
      throw error;
    }
  }

  /** Checks once that the URL is a training server of a supported version. */
  #checkServer(): Promise<void> {
    this.#checked ??= this.#readServer().catch((error: unknown) => {
      this.#checked = null;
      throw error;
    });
    return this.#checked;
  }

  async #readServer(): Promise<void> {
    const { protocol, version } = await this.#server.transport.call(serverRoutes.describe);
    if (protocol >= requiredProtocol) return;
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `the server is too old: version ${version} has protocol ${protocol}, and client ${clientVersion} requires ${requiredProtocol}`,
      remedy: `Update the server to @agentlightning/trainer@${clientVersion}, or install @agentlightning/client@${version}.`,
    });
  }
}

function changedData(): AgentLightningError {
  return new AgentLightningError({
    code: 'TASK_FILE',
    message: 'a task file has changed while it was uploaded',
    remedy: 'Upload it again when it is no longer written.',
  });
}

function invalidUrl(url: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `"${url}" is not an http(s) URL`,
    remedy: 'Pass the URL that `agl server` prints.',
  });
}

function assertCurrentOptions(options: object): void {
  if (!('workers' in options)) return;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: 'the option "workers" is now "concurrency"',
    remedy: 'Rename it: the number of concurrent rollouts in this process.',
  });
}

function noData(): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: 'the run has no data',
    remedy: 'Call `uploadData` first, or pass its result as `data`.',
  });
}
