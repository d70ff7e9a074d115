import type {
  Attempt,
  AttemptedRollout,
  AttemptPatch,
  AttemptQuery,
  ClaimOptions,
  DeletionCounts,
  EnqueueRolloutRequest,
  JsonObject,
  MetricPoint,
  NamedResources,
  Page,
  ResourcesQuery,
  ResourcesSnapshot,
  RetentionPolicy,
  RetentionPreview,
  Rollout,
  RolloutPatch,
  RolloutQuery,
  Run,
  RunPatch,
  RunStatistics,
  Span,
  SpanInput,
  SpanQuery,
  SpanSearch,
  SpanSearchPage,
  StartRolloutRequest,
  Store,
  StoreChange,
  StoreStatistics,
  WaitOptions,
  WatchOptions,
  Worker,
  WorkerQuery,
} from '@agentlightning/core';
import { spanRow } from '../span-row.ts';
import type { AttemptReader } from './attempt-reader.ts';
import type { LoneSpanWriter } from './lone-span-writer.ts';
import { SpanAppender } from './span-appender.ts';
import { StoreLine, type StoreLineOptions } from './store-line.ts';
import type { CarriedMethod, StoreRequest } from './store-message.ts';

/** What a store in another thread is made of. */
export interface ThreadStoreOptions extends StoreLineOptions {
  /** Reads what gateways ask for every call; null where only the other thread can. */
  readonly reader: AttemptReader | null;
  /** Writes spans that come alone; null where only the other thread can. */
  readonly loneSpans: LoneSpanWriter | null;
}

/** A store in another thread. Open one with `openStoreInThread`. */
export class ThreadStore implements Store {
  readonly #line: StoreLine;
  readonly #reader: AttemptReader | null;
  readonly #spans: SpanAppender;
  readonly #closing = new AbortController();
  #closed: Promise<void> | null = null;

  constructor({ reader, loneSpans, ...line }: ThreadStoreOptions) {
    this.#line = new StoreLine(line);
    this.#reader = reader;
    this.#spans = new SpanAppender(this.#line, loneSpans);
  }

  enqueueRollouts(requests: readonly EnqueueRolloutRequest[]): Promise<readonly Rollout[]> {
    return this.#call('enqueueRollouts', requests);
  }

  startRollout(request: StartRolloutRequest): Promise<AttemptedRollout> {
    return this.#call('startRollout', request);
  }

  async claimRollouts(options: ClaimOptions = {}): Promise<readonly AttemptedRollout[]> {
    const { signal, ...plain } = options;
    if (signal?.aborted) return [];
    const id = this.#line.nextId();
    return await this.#untilAborted(id, signal, this.#line.ask(id, ['claim', id, plain]));
  }

  startAttempt(rolloutId: string, workerId: string | null = null): Promise<AttemptedRollout> {
    return this.#call('startAttempt', rolloutId, workerId);
  }

  getRollout(rolloutId: string): Promise<Rollout | AttemptedRollout> {
    return this.#call('getRollout', rolloutId);
  }

  queryRollouts(query: RolloutQuery = {}): Promise<Page<Rollout | AttemptedRollout>> {
    return this.#call('queryRollouts', query);
  }

  updateRollout(rolloutId: string, patch: RolloutPatch): Promise<Rollout> {
    return this.#call('updateRollout', rolloutId, patch);
  }

  waitForRollouts(rolloutIds: readonly string[], options: WaitOptions = {}): Promise<readonly Rollout[]> {
    const id = this.#line.nextId();
    const finished = this.#line.ask<readonly Rollout[]>(id, ['wait', id, rolloutIds, options.timeoutMs]);
    return this.#untilAborted(id, options.signal, finished);
  }

  queryAttempts(rolloutId: string, query: AttemptQuery = {}): Promise<Page<Attempt>> {
    return this.#call('queryAttempts', rolloutId, query);
  }

  /** What model gateways ask for every call: read here, it costs less than the way to the other thread and back. */
  async getLatestAttempt(rolloutId: string): Promise<Attempt | null> {
    const known = this.#line.isIdle ? this.#reader?.latest(rolloutId) : undefined;
    return known === undefined ? await this.#call('getLatestAttempt', rolloutId) : known;
  }

  updateAttempt(rolloutId: string, attemptId: string, patch: AttemptPatch): Promise<Attempt> {
    return this.#call('updateAttempt', rolloutId, attemptId, patch);
  }

  async appendSpans(spans: readonly SpanInput[]): Promise<readonly (Span | null)[]> {
    if (spans.length === 0) return [];
    const sequenceIds = await this.#spans.append(spans.map(spanRow));
    return spans.map((span, index) => {
      const sequenceId = sequenceIds[index] ?? null;
      return sequenceId === null ? null : { ...span, sequenceId };
    });
  }

  nextSpanSequenceIds(
    attempts: readonly { readonly rolloutId: string; readonly attemptId: string }[],
  ): Promise<readonly number[]> {
    return this.#call('nextSpanSequenceIds', attempts);
  }

  querySpans(query: SpanQuery): Promise<Page<Span>> {
    return this.#call('querySpans', query);
  }

  searchSpans(search: SpanSearch = {}): Promise<SpanSearchPage> {
    return this.#call('searchSpans', search);
  }

  addResources(resources: NamedResources): Promise<ResourcesSnapshot> {
    return this.#call('addResources', resources);
  }

  updateResources(resourcesId: string, resources: NamedResources): Promise<ResourcesSnapshot> {
    return this.#call('updateResources', resourcesId, resources);
  }

  getResources(resourcesId: string): Promise<ResourcesSnapshot> {
    return this.#call('getResources', resourcesId);
  }

  getLatestResources(): Promise<ResourcesSnapshot | null> {
    return this.#call('getLatestResources');
  }

  queryResources(query: ResourcesQuery = {}): Promise<Page<ResourcesSnapshot>> {
    return this.#call('queryResources', query);
  }

  updateWorker(workerId: string, heartbeatStats?: JsonObject): Promise<Worker> {
    return this.#call('updateWorker', workerId, heartbeatStats);
  }

  getWorker(workerId: string): Promise<Worker | null> {
    return this.#call('getWorker', workerId);
  }

  queryWorkers(query: WorkerQuery = {}): Promise<Page<Worker>> {
    return this.#call('queryWorkers', query);
  }

  createRun(run: { readonly runId: string; readonly name: string; readonly config: JsonObject }): Promise<Run> {
    return this.#call('createRun', run);
  }

  getRun(runId: string): Promise<Run> {
    return this.#call('getRun', runId);
  }

  queryRuns(options: { readonly limit?: number; readonly offset?: number } = {}): Promise<Page<Run>> {
    return this.#call('queryRuns', options);
  }

  updateRun(runId: string, patch: RunPatch, metrics: readonly MetricPoint[] = []): Promise<Run> {
    return this.#call('updateRun', runId, patch, metrics);
  }

  queryMetrics(runId: string): Promise<readonly MetricPoint[]> {
    return this.#call('queryMetrics', runId);
  }

  runStatistics(runId: string): Promise<RunStatistics> {
    return this.#call('runStatistics', runId);
  }

  deleteRollouts(rolloutIds: readonly string[]): Promise<DeletionCounts> {
    return this.#call('deleteRollouts', rolloutIds);
  }

  deleteRun(runId: string, options: { readonly force?: boolean } = {}): Promise<DeletionCounts> {
    return this.#call('deleteRun', runId, options);
  }

  applyRetention(policy: RetentionPolicy): Promise<DeletionCounts> {
    return this.#call('applyRetention', policy);
  }

  previewRetention(policy: RetentionPolicy): Promise<RetentionPreview> {
    return this.#call('previewRetention', policy);
  }

  statistics(): Promise<StoreStatistics> {
    return this.#call('statistics');
  }

  async *exportRun(runId: string): AsyncGenerator<Uint8Array, void, undefined> {
    const id = this.#line.nextId();
    yield* this.#receive<Uint8Array>(id, ['export', id, runId]);
  }

  async importRun(archive: AsyncIterable<Uint8Array>): Promise<Run> {
    const id = this.#line.nextId();
    const imported = this.#line.ask<Run>(id, ['import', id]);
    let failure: { readonly error: unknown } | null = null;
    void this.#line.traffic
      .send(id, () => archive)
      .then((outcome) => {
        failure = outcome;
      });
    // What the archive itself failed with, and not the copy of it that has been to the store.
    return await imported.catch((error: unknown) => {
      throw failure === null ? error : failure.error;
    });
  }

  async *watchChanges(options: WatchOptions = {}): AsyncGenerator<StoreChange, void, undefined> {
    const { signal, ...plain } = options;
    const id = this.#line.nextId();
    const until = signal === undefined ? this.#closing.signal : AbortSignal.any([this.#closing.signal, signal]);
    if (!until.aborted) yield* this.#receive<StoreChange>(id, ['watch', id, plain], until);
  }

  close(): Promise<void> {
    this.#closing.abort();
    this.#reader?.close();
    this.#closed ??= Promise.all([this.#line.close(), this.#spans.close()]).then(() => undefined);
    return this.#closed;
  }

  #call<TMethod extends CarriedMethod>(
    method: TMethod,
    ...parameters: Parameters<Store[TMethod]>
  ): Promise<Awaited<ReturnType<Store[TMethod]>>> {
    const id = this.#line.nextId();
    return this.#line.ask(id, ['call', id, method, parameters]);
  }

  /** Tells the other side when the caller gives up, who gets its answer all the same. */
  async #untilAborted<TAnswer>(
    id: number,
    signal: AbortSignal | undefined,
    answer: Promise<TAnswer>,
  ): Promise<TAnswer> {
    if (signal === undefined) return answer;
    const abort = (): void => this.#line.giveUp(id);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
    try {
      return await answer;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  async *#receive<TPiece>(
    id: number,
    request: StoreRequest,
    signal?: AbortSignal,
  ): AsyncGenerator<TPiece, void, undefined> {
    const incoming = this.#line.traffic.receive<TPiece>(id);
    const leave = (): void => incoming.leave();
    signal?.addEventListener('abort', leave);
    this.#line.hold();
    try {
      this.#line.tell(request);
      yield* incoming.read();
    } finally {
      signal?.removeEventListener('abort', leave);
      this.#line.release();
    }
  }
}
