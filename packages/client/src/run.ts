import { AgentLightningError, type Rollout } from '@agentlightning/core';
import {
  type FailedEvent,
  type PausedEvent,
  type ResumeRunRequest,
  type RunEvent,
  type RunInfo,
  serverRoutes,
  unfinishedRunStatuses,
} from '@agentlightning/core/protocol';
import type { StoreClient, StoreTransport } from '@agentlightning/core/store-client';
import { readRunEvents } from './run-events.ts';

/** An OpenAI-compatible endpoint: the options of a client such as `new OpenAI({ baseURL, apiKey })`, and the model. */
export interface ModelEndpoint {
  /** Address up to and with `/v1`. */
  readonly baseURL: string;
  /** Key of the endpoint. */
  readonly apiKey: string;
  /** The name of the trained model. */
  readonly model: string;
}

/** The result of a finished run. */
export interface RunResult extends RunInfo {
  /** Mean reward on the test tasks before training. */
  readonly rewardBefore: number;
  /** Mean reward on the test tasks after training. */
  readonly rewardAfter: number;
  /** Serves the trained model. */
  readonly endpoint: ModelEndpoint;
}

/** The routes of the server, and its store. */
export interface ServerConnection {
  readonly transport: StoreTransport;
  readonly store: StoreClient;
  readonly apiKey: string;
}

/** Runs the agent of this client. */
interface StoppableWorker {
  stop(): Promise<void>;
}

/** A run on the server, and its worker on this machine where there is one. */
export class ClientRun {
  /** Id of the run. */
  readonly runId: string;
  readonly #server: ServerConnection;
  readonly #createWorker: (() => StoppableWorker) | null;
  #worked: Promise<void> = Promise.resolve();

  /** @internal */
  constructor(server: ServerConnection, runId: string, createWorker: (() => StoppableWorker) | null = null) {
    this.#server = server;
    this.runId = runId;
    this.#createWorker = createWorker;
  }

  /** Runs the agent on this machine until the run has ended. @internal */
  work(): void {
    const createWorker = this.#createWorker;
    if (createWorker === null) return;
    // After the former worker, which may still be stopping.
    this.#worked = this.#worked.then(async () => {
      const worker = createWorker();
      await this.#untilEnded().catch(() => undefined);
      await worker.stop();
    });
  }

  /** The state of the run. @throws AgentLightningError NOT_FOUND */
  info(): Promise<RunInfo> {
    return this.#server.transport.call(serverRoutes.getRun, this.#call);
  }

  /**
   * The events of the run from its beginning, or after a number of them, until it has ended. A lost connection is opened
   * again.
   *
   * @example
   * ```ts
   * for await (const event of run.events()) if (event.type === 'stepped') console.log(event.summary.step, event.summary.reward);
   * ```
   */
  events(options: { readonly after?: number; readonly signal?: AbortSignal } = {}): AsyncIterable<RunEvent> {
    return readRunEvents(this.#server.transport, this.runId, { after: options.after ?? 0, signal: options.signal });
  }

  /**
   * Waits until the run has ended, and the worker of this client has stopped.
   *
   * @throws AgentLightningError the error of a failed run; CANCELLED for a stopped one, BUDGET_REACHED for a paused one
   */
  async result(): Promise<RunResult> {
    const failure = await this.#untilEnded();
    await this.#worked;
    const info = await this.info();
    const { status, rewardBefore, rewardAfter } = info;
    if (status === 'finished' && rewardBefore !== null && rewardAfter !== null) {
      return { ...info, rewardBefore, rewardAfter, endpoint: await this.endpoint() };
    }
    throw endedWithout(info, failure);
  }

  /**
   * Serves the model of the run as an OpenAI-compatible endpoint, also after a restart of the server.
   *
   * @throws AgentLightningError CONFLICT for a run that has not started
   */
  async endpoint(): Promise<ModelEndpoint> {
    const { transport, apiKey } = this.#server;
    const model = await transport.call(serverRoutes.serveModel, this.#call);
    return { baseURL: `${transport.baseUrl}/v1`, apiKey, model };
  }

  /** The rollouts of the run, the first ones first, with their latest attempts. */
  async rollouts(options: { readonly limit?: number; readonly offset?: number } = {}): Promise<readonly Rollout[]> {
    const { limit = 100, offset = 0 } = options;
    return (await this.#server.store.queryRollouts({ runId: this.runId, limit, offset })).items;
  }

  /** Stops the run after its current operation. */
  stop(): Promise<RunInfo> {
    return this.#server.transport.call(serverRoutes.stopRun, this.#call);
  }

  /**
   * Resumes a stopped or failed run at its last checkpoint, a paused one with a larger budget, or a finished one with more steps. A
   * worker of this client works on it again.
   *
   * @throws AgentLightningError CONFLICT for a finished run without more steps
   * @example
   * ```ts
   * await run.resume({ budget: { money: 40 } });
   * ```
   */
  async resume(options: ResumeRunRequest = {}): Promise<RunInfo> {
    const info = await this.#server.transport.call(serverRoutes.resumeRun, { ...this.#call, input: options });
    this.work();
    return info;
  }

  /** Waits for the end of the run. @returns the event that says why it has not finished; null without one */
  async #untilEnded(): Promise<FailedEvent | PausedEvent | null> {
    let failure: FailedEvent | PausedEvent | null = null;
    for await (const event of this.events()) {
      if (event.type === 'failed' || event.type === 'paused') failure = event;
      if (event.type === 'queued') failure = null;
    }
    return failure;
  }

  get #call(): { readonly parameters: readonly string[] } {
    return { parameters: [this.runId] };
  }
}

function endedWithout({ runId, status }: RunInfo, failure: FailedEvent | PausedEvent | null): AgentLightningError {
  if (failure?.type === 'paused') {
    const { message, remedy } = failure;
    return new AgentLightningError({ code: 'BUDGET_REACHED', message, remedy });
  }
  if (status === 'stopped' || unfinishedRunStatuses.includes(status)) {
    return new AgentLightningError({
      code: 'CANCELLED',
      message: `run ${runId} was stopped`,
      remedy: 'Continue it with `run.resume()`.',
    });
  }
  const { message = 'no reason was recorded', remedy = '', code = null } = failure ?? {};
  return new AgentLightningError({
    code: 'INTERNAL',
    message: `run ${runId} has failed: ${message}`,
    remedy: `${remedy} Continue it with \`run.resume()\`.`.trim(),
    details: { code },
  });
}
