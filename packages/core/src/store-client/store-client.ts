import { z } from 'zod';
import { systemClock } from '../clock.ts';
import { AgentLightningError } from '../errors/agent-lightning-error.ts';
import { NotFoundError } from '../errors/not-found-error.ts';
import { newId } from '../id.ts';
import type { JsonObject } from '../json.ts';
import { encode } from '../parse.ts';
import { attemptCodec } from '../protocol/rollouts/wire-attempt.ts';
import { attemptPatchCodec } from '../protocol/rollouts/wire-attempt-patch.ts';
import { attemptedRolloutCodec, rolloutCodec } from '../protocol/rollouts/wire-rollout.ts';
import { rolloutPatchCodec } from '../protocol/rollouts/wire-rollout-patch.ts';
import { enqueueCodec, rolloutRequestCodec } from '../protocol/rollouts/wire-rollout-request.ts';
import { metricPointCodec } from '../protocol/runs/wire-metric-point.ts';
import { type RunRequest, runCodec, runRequestCodec, runUpdateCodec } from '../protocol/runs/wire-run.ts';
import { statisticsCodec } from '../protocol/runs/wire-statistics.ts';
import { pageFromWire, wirePageSchema } from '../protocol/wire-page.ts';
import * as queries from '../protocol/wire-query.ts';
import { namedResourcesCodec, resourcesSnapshotCodec } from '../protocol/wire-resources.ts';
import { spanFromWire, wireSpanSchema } from '../protocol/wire-span.ts';
import { workerCodec } from '../protocol/wire-worker.ts';
import { assertKeyIsEncrypted } from '../server/insecure-key.ts';
import type { Span, SpanInput } from '../spans/span.ts';
import type { Attempt } from '../store/attempt.ts';
import type { NamedResources, ResourcesSnapshot } from '../store/resource.ts';
import type { AttemptedRollout, EnqueueRolloutRequest, Rollout, StartRolloutRequest } from '../store/rollout.ts';
import type { MetricPoint, Run } from '../store/run.ts';
import type {
  AttemptPatch,
  AttemptQuery,
  ClaimOptions,
  Page,
  ResourcesQuery,
  RolloutPatch,
  RolloutQuery,
  RunPatch,
  SpanQuery,
  Store,
  StoreStatistics,
  WaitOptions,
  WorkerQuery,
} from '../store/store.ts';
import type { StoreChange, WatchOptions } from '../store/store-change.ts';
import type { Worker } from '../store/worker.ts';
import { watchOverHttp } from './events.ts';
import { idSegment } from './id-segment.ts';
import { StoreMaintenanceClient } from './maintenance.ts';
import type { StoreClientOptions } from './options.ts';
import { SpanWriting } from './spans.ts';
import { StoreTransport } from './transport.ts';
import { claimOverHttp, waitOverHttp } from './wait.ts';

/**
 * Client of a store over HTTP: a server of this project, or of Agent Lightning 0.3 within its protocol.
 *
 * Requests are retried on transient failures and are idempotent.
 *
 * @example
 * ```ts
 * const store = new StoreClient({ baseUrl: 'http://localhost:4747', apiKey: 'my-key' });
 * const [claimed] = await store.claimRollouts({ workerId: 'worker-1', waitMs: 60_000 });
 * ```
 */
export class StoreClient extends StoreMaintenanceClient implements Store {
  readonly #transport: StoreTransport;
  readonly #options: StoreClientOptions;
  readonly #spans: SpanWriting;
  readonly #closing = new AbortController();

  /**
   * @throws AgentLightningError CONFIG for an address with a user or a password in it, whose place is `apiKey`, and for a
   *   key that would be sent unencrypted to another machine
   */
  constructor(options: StoreClientOptions) {
    if (options.apiKey !== undefined && options.allowInsecureKey !== true) {
      assertKeyIsEncrypted({ receiver: 'Store', url: options.baseUrl, option: 'allowInsecureKey' });
    }
    const transport = new StoreTransport({
      baseUrl: options.baseUrl,
      apiKey: options.apiKey ?? null,
      fetch: options.fetch ?? globalThis.fetch,
      clock: options.clock ?? systemClock,
      requestTimeoutMs: options.requestTimeoutMs ?? 30_000,
      maxRetries: options.maxRetries ?? 6,
      unreachableAfterMs: options.unreachableAfterMs ?? null,
    });
    super(transport, options);
    this.#options = options;
    this.#transport = transport;
    this.#spans = new SpanWriting(transport);
  }

  async enqueueRollouts(requests: readonly EnqueueRolloutRequest[]): Promise<readonly Rollout[]> {
    // Client-generated ids make a retry find the existing rollouts.
    const rollouts = requests.map((request) => ({ rolloutId: newId('rollout'), ...request }));
    return await this.#post(
      '/queues/rollouts/enqueue',
      encode(enqueueCodec, { rollouts }, 'Request'),
      z.array(rolloutCodec),
    );
  }

  async startRollout(request: StartRolloutRequest): Promise<AttemptedRollout> {
    const body = encode(rolloutRequestCodec, { rolloutId: newId('rollout'), ...request }, 'Request');
    return await this.#post('/rollouts', body, attemptedRolloutCodec);
  }

  claimRollouts(options: ClaimOptions = {}): Promise<readonly AttemptedRollout[]> {
    return claimOverHttp(this.#waiting(), { ...options, signal: this.#untilClosed(options.signal) });
  }

  async startAttempt(rolloutId: string, workerId: string | null = null): Promise<AttemptedRollout> {
    const path = `/rollouts/${idSegment('rolloutId', rolloutId)}/attempts`;
    return await this.#postOnce(path, { worker_id: workerId }, attemptedRolloutCodec);
  }

  async getRollout(rolloutId: string): Promise<Rollout | AttemptedRollout> {
    try {
      return await this.#get(`/rollouts/${idSegment('rolloutId', rolloutId)}`, rolloutCodec);
    } catch (error) {
      // An Agent Lightning 0.3 server does not name the missing record.
      const isNamed = !AgentLightningError.isInstance(error) || error.code !== 'NOT_FOUND' || 'id' in error.details;
      throw isNamed ? error : new NotFoundError('Rollout', rolloutId);
    }
  }

  async queryRollouts(query: RolloutQuery = {}): Promise<Page<Rollout | AttemptedRollout>> {
    const body = queries.rolloutQueryToWire(query);
    return await this.#post('/rollouts/search', body, wirePageSchema(rolloutCodec));
  }

  async updateRollout(rolloutId: string, patch: RolloutPatch): Promise<Rollout> {
    const path = `/rollouts/${idSegment('rolloutId', rolloutId)}`;
    return await this.#postOnce(path, encode(rolloutPatchCodec, patch, 'Request'), rolloutCodec);
  }

  waitForRollouts(rolloutIds: readonly string[], options: WaitOptions = {}): Promise<readonly Rollout[]> {
    return waitOverHttp(this.#waiting(), rolloutIds, { ...options, signal: this.#untilClosed(options.signal) });
  }

  watchChanges(options: WatchOptions = {}): AsyncIterable<StoreChange> {
    return watchOverHttp(this.#waiting(), { ...options, signal: this.#untilClosed(options.signal) });
  }

  async queryAttempts(rolloutId: string, query: AttemptQuery = {}): Promise<Page<Attempt>> {
    const path = `/rollouts/${idSegment('rolloutId', rolloutId)}/attempts/search`;
    return await this.#post(path, queries.attemptQueryToWire(query), wirePageSchema(attemptCodec));
  }

  async getLatestAttempt(rolloutId: string): Promise<Attempt | null> {
    const path = `/rollouts/${idSegment('rolloutId', rolloutId)}/attempts/latest`;
    return await this.#get(path, attemptCodec.nullable());
  }

  async updateAttempt(rolloutId: string, attemptId: string, patch: AttemptPatch): Promise<Attempt> {
    const path = `/rollouts/${idSegment('rolloutId', rolloutId)}/attempts/${idSegment('attemptId', attemptId)}`;
    const body = encode(attemptPatchCodec, patch, 'Request');
    // A repeated heartbeat is idempotent; a status is not.
    return patch.status === undefined
      ? await this.#post(path, body, attemptCodec)
      : await this.#postOnce(path, body, attemptCodec);
  }

  async appendSpans(spans: readonly SpanInput[]): Promise<readonly (Span | null)[]> {
    return spans.length === 0 ? [] : this.#spans.append(spans);
  }

  nextSpanSequenceIds(
    attempts: readonly { readonly rolloutId: string; readonly attemptId: string }[],
  ): Promise<readonly number[]> {
    return this.#spans.reserve(attempts);
  }

  async querySpans(query: SpanQuery): Promise<Page<Span>> {
    const body = queries.spanQueryToWire(query);
    return pageFromWire(await this.#post('/spans/search', body, wirePageSchema(wireSpanSchema)), spanFromWire);
  }

  async addResources(resources: NamedResources): Promise<ResourcesSnapshot> {
    return await this.#postOnce(
      '/resources',
      encode(namedResourcesCodec, resources, 'Request'),
      resourcesSnapshotCodec,
    );
  }

  async updateResources(resourcesId: string, resources: NamedResources): Promise<ResourcesSnapshot> {
    const path = `/resources/${idSegment('resourcesId', resourcesId)}`;
    return await this.#postOnce(path, encode(namedResourcesCodec, resources, 'Request'), resourcesSnapshotCodec);
  }

  async getResources(resourcesId: string): Promise<ResourcesSnapshot> {
    const path = `/resources/${idSegment('resourcesId', resourcesId)}`;
    const snapshot = await this.#get(path, resourcesSnapshotCodec.nullable());
    if (snapshot === null) throw new NotFoundError('Resources', resourcesId);
    return snapshot;
  }

  getLatestResources(): Promise<ResourcesSnapshot | null> {
    return this.#get('/resources/latest', resourcesSnapshotCodec.nullable());
  }

  async queryResources(query: ResourcesQuery = {}): Promise<Page<ResourcesSnapshot>> {
    const body = queries.resourcesQueryToWire(query);
    return await this.#get(`/resources?${parameters(body)}`, wirePageSchema(resourcesSnapshotCodec));
  }

  async updateWorker(workerId: string, heartbeatStats?: JsonObject): Promise<Worker> {
    const path = `/workers/${idSegment('workerId', workerId)}`;
    return await this.#post(path, { heartbeat_stats: heartbeatStats }, workerCodec);
  }

  async getWorker(workerId: string): Promise<Worker | null> {
    return await this.#get(`/workers/${idSegment('workerId', workerId)}`, workerCodec.nullable());
  }

  async queryWorkers(query: WorkerQuery = {}): Promise<Page<Worker>> {
    const body = queries.workerQueryToWire(query);
    return await this.#post('/workers/search', body, wirePageSchema(workerCodec));
  }

  async createRun(run: RunRequest): Promise<Run> {
    return await this.#postOnce('/runs', encode(runRequestCodec, run, 'Request'), runCodec);
  }

  async getRun(runId: string): Promise<Run> {
    return await this.#get(`/runs/${idSegment('runId', runId)}`, runCodec);
  }

  queryRuns(options: { readonly limit?: number; readonly offset?: number } = {}): Promise<Page<Run>> {
    return this.#get(`/runs?${parameters(options)}`, wirePageSchema(runCodec));
  }

  async updateRun(runId: string, patch: RunPatch, metrics: readonly MetricPoint[] = []): Promise<Run> {
    const body = encode(runUpdateCodec, { patch, metrics }, 'Request');
    return await this.#post(`/runs/${idSegment('runId', runId)}`, body, runCodec);
  }

  async queryMetrics(runId: string): Promise<readonly MetricPoint[]> {
    const path = `/runs/${idSegment('runId', runId)}/metrics`;
    const { items } = await this.#get(path, z.object({ items: z.array(metricPointCodec) }));
    return items;
  }

  async statistics(): Promise<StoreStatistics> {
    return { ...(await this.#get('/statistics', statisticsCodec)), name: 'http' };
  }

  async close(): Promise<void> {
    this.#closing.abort();
  }

  #get<TAnswer>(path: string, answer: z.ZodType<TAnswer>): Promise<TAnswer> {
    return this.#transport.send({ method: 'GET', path, answer });
  }

  #post<TAnswer>(path: string, body: unknown, answer: z.ZodType<TAnswer>): Promise<TAnswer> {
    return this.#transport.send({ method: 'POST', path, body, answer });
  }

  #postOnce<TAnswer>(path: string, body: unknown, answer: z.ZodType<TAnswer>): Promise<TAnswer> {
    return this.#transport.send({ method: 'POST', path, body, answer, idempotencyKey: crypto.randomUUID() });
  }

  #waiting(): { readonly transport: StoreTransport; readonly clock: NonNullable<StoreClientOptions['clock']> } {
    return { transport: this.#transport, clock: this.#options.clock ?? systemClock };
  }

  #untilClosed(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#closing.signal : AbortSignal.any([this.#closing.signal, signal]);
  }
}

/** URL parameters of all defined fields. */
function parameters(fields: object): URLSearchParams {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  return new URLSearchParams(entries.map(([name, value]): [string, string] => [name, String(value)]));
}
