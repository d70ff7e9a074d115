import { AgentLightningError, NotFoundError, type Run } from '@agentlightning/core';
import type { ResumeRunRequest, RunInfo } from '@agentlightning/core/protocol';
import type { SqlStore } from '@agentlightning/store';
import { isRunId } from '../config/model-name.ts';
import { isGroup } from '../config/renamed-keys.ts';
import { recordedConfig } from '../run/find-or-create-run.ts';
import { rolloutShape, shapeKey } from '../run/run-shape.ts';
import type { DataSets } from './data-sets.ts';
import { type RunSettings, resolveRunSettings } from './run-config.ts';
import type { RunPage, RunQueue } from './run-queue.ts';
import { parseRunRequest, type RunRequest, readRunRequest, removeRunRequest, writeRunRequest } from './run-request.ts';
import { runView } from './run-view.ts';
import type { ServedModels } from './served-models.ts';
import type { ServerFolder } from './server-folder.ts';

/** Options of a {@link ServerApi}. */
export interface ServerApiOptions {
  readonly store: SqlStore;
  readonly folder: ServerFolder;
  readonly queue: RunQueue;
  readonly models: ServedModels;
  readonly dataSets: DataSets;
  /** The configuration of a request, with what the server adds. */
  readonly settingsOf: (request: RunRequest) => Promise<RunSettings>;
}

/** A run of this server with its request. */
interface ServerRun {
  readonly run: Run;
  readonly request: RunRequest;
}

/** What clients can do with runs. */
export class ServerApi {
  readonly #options: ServerApiOptions;

  constructor(options: ServerApiOptions) {
    this.#options = options;
  }

  /**
   * Creates a run, and queues it.
   *
   * @throws AgentLightningError CONFIG for a wrong setting, NOT_FOUND for a data set that was not uploaded
   */
  async create(body: unknown): Promise<RunInfo> {
    const { store, folder, queue, dataSets, settingsOf } = this.#options;
    const { runId, request } = parseRunRequest(body);
    if (await this.#exists(runId)) return await this.view(runId);
    const config = resolveRunSettings(await settingsOf(request));
    const { train, test } = request.data;
    const tasks = {
      train: [await dataSets.fingerprint(train)],
      heldOut: await dataSets.fingerprint(test),
      validation: null,
      guards: 'none',
    };
    queue.assertSpace();
    await this.#assertNew(runId);
    // Before the run: a run without a request is not one of this server, and clients may write its state.
    await writeRunRequest(folder, runId, request);
    const record = { ...recordedConfig(config), [shapeKey]: rolloutShape(config, tasks) };
    try {
      await store.createRun({ runId, name: request.name, config: record });
    } catch (error) {
      await removeRunRequest(folder, runId);
      throw error;
    }
    await queue.add({ runId, status: 'queued' });
    return await this.view(runId);
  }

  /** The runs of this server, newest first. */
  async list(page: RunPage): Promise<readonly RunInfo[]> {
    const runs = await this.#options.queue.runs(page);
    return await Promise.all(runs.map(async (run) => this.#viewOf(run, await this.#requestOf(run.runId))));
  }

  /** @throws NotFoundError for an unknown run */
  async view(runId: string): Promise<RunInfo> {
    const { run, request } = await this.find(runId);
    return this.#viewOf(run, request);
  }

  async stop(runId: string): Promise<RunInfo> {
    await this.find(runId);
    await this.#options.queue.stop(runId);
    return await this.view(runId);
  }

  /**
   * Queues a run that has ended. A finished one needs more steps, a paused one a larger budget.
   *
   * @throws AgentLightningError CONFLICT for a finished run without more steps
   */
  async resume(runId: string, { steps, budget }: ResumeRunRequest): Promise<RunInfo> {
    const { folder, queue, settingsOf } = this.#options;
    const { run, request } = await this.find(runId);
    const before = resolveRunSettings(await settingsOf(request)).steps;
    if (run.status === 'finished' && (steps ?? 0) <= before) throw nothingLeft(run, before);
    if (steps !== undefined || budget !== undefined) {
      const { limits } = request.training;
      const training = {
        ...request.training,
        ...(steps === undefined ? {} : { steps }),
        ...(budget === undefined ? {} : { limits: withBudget(limits, budget) }),
      };
      const next = { ...request, training };
      resolveRunSettings(await settingsOf(next));
      await writeRunRequest(folder, runId, next);
    }
    await queue.add(run);
    return await this.view(runId);
  }

  /** Serves the model of a run. @returns its name at the gateway */
  async serve(runId: string): Promise<string> {
    const { run } = await this.find(runId);
    return await this.#options.models.serve(run);
  }

  /** @throws NotFoundError for a run that is not one of this server */
  async find(runId: string): Promise<ServerRun> {
    if (!isRunId(runId)) throw new NotFoundError('Run', runId);
    const request = await this.#requestOf(runId);
    return { request, run: await this.#options.store.getRun(runId) };
  }

  /** Whether a run was created by an earlier request with the same id. */
  async #exists(runId: string): Promise<boolean> {
    if ((await readRunRequest(this.#options.folder, runId)) === null) return false;
    return await this.#options.store.getRun(runId).then(
      () => true,
      () => false,
    );
  }

  /** A run that a client created in the store has a state that the client may have written. */
  async #assertNew(runId: string): Promise<void> {
    const known = await this.#options.store.getRun(runId).catch((error: unknown) => {
      if (error instanceof NotFoundError) return null;
      throw error;
    });
    if (known === null) return;
    throw new AgentLightningError({
      code: 'CONFLICT',
      message: `run ${runId} exists in the store, and is not a run of this server`,
      remedy: 'Use another run id.',
    });
  }

  async #requestOf(runId: string): Promise<RunRequest> {
    const request = await readRunRequest(this.#options.folder, runId);
    if (request === null) throw new NotFoundError('Run', runId);
    return request;
  }

  #viewOf(run: Run, request: RunRequest): RunInfo {
    return runView(run, { request, position: this.#options.queue.position(run.runId) });
  }
}

/** Limits that are not named stay. */
function withBudget(limits: unknown, budget: Exclude<ResumeRunRequest['budget'], undefined>): object {
  const former = isGroup(limits) ? limits : {};
  return { ...former, budget: { ...(isGroup(former['budget']) ? former['budget'] : {}), ...budget } };
}

function nothingLeft({ runId }: Run, steps: number): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFLICT',
    message: `run ${runId} has finished all of its ${steps} steps`,
    remedy: `Resume it with more than ${steps} steps.`,
  });
}
