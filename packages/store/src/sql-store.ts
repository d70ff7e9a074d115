import type { AttemptedRollout, Clock, Rollout, Run, Store } from '@agentlightning/core';
import type {
  ClaimOptions,
  DeletionCounts,
  RetentionPolicy,
  StoreChange,
  StoreStatistics,
  WaitOptions,
  WatchOptions,
} from '@agentlightning/core/store';
import { exportRun } from './archive/export-run.ts';
import { importRun } from './archive/import-run.ts';
import { ChangeJournal, type JournalEntry, type JournalReading } from './change-journal.ts';
import { ClaimLine } from './claim-line.ts';
import { waitForFinish } from './finish-waits.ts';
import { runnerWithin, TransactionRunner } from './operation-runner.ts';
import {
  answerOnce,
  findAnswer,
  forgetOldAnswers,
  type IdempotentRequest,
  recordAnswer,
} from './operations/answer-once.ts';
import { applyPartOfRetention, assertRetentionPolicy, hasAnythingToDelete } from './operations/apply-retention.ts';
import { assertClaimLimit, claimedIds, isAnythingQueued, readClaimed } from './operations/claim-rollouts.ts';
import { countEverything } from './operations/count-everything.ts';
import { deleteInParts, knownDeletion, type LongDeletion } from './operations/delete-in-parts.ts';
import { assertMayBeDeleted, deletePartOfRun } from './operations/delete-run.ts';
import { expireAttempts, findExpiredAttempts } from './operations/expire-attempts.ts';
import { findRunId } from './operations/find-run-id.ts';
import { readFinishedRollouts } from './operations/read-rollouts.ts';
import { isStoreTimeOld, noteStoreTime, readStoreTime, type StoreTime } from './operations/store-time.ts';
import { markWorkerIdle } from './operations/worker-record.ts';
import { RolloutIndexer } from './rollout-indexer.ts';
import type { SqlDriver } from './sql-driver.ts';
import { SqlStoreOperations } from './sql-store-operations.ts';
import type { SqlClaimOptions, SqlDeletionOptions, SqlStoreOptions } from './sql-store-options.ts';
import { ChangeFeed, type StoreChangeListener } from './store-change.ts';
import { Watchdog } from './watchdog.ts';

export type { SqlClaimOptions, SqlDeletionOptions } from './sql-store-options.ts';

/** How often answers to old requests are cleared away, in milliseconds. */
const forgetIntervalMs = 3_600_000;

/** How often a store looks for what it need not keep, in milliseconds. */
const retentionIntervalMs = 60_000;

/** For how long a store that was away, or whose clock jumped, deletes nothing by itself, in milliseconds: clocks are set right. */
const retentionGraceMs = 3_600_000;

/** The store on an SQL database. Open one with `openStore`. */
export class SqlStore extends SqlStoreOperations implements Store {
  readonly #driver: SqlDriver;
  readonly #clock: Clock;
  readonly #feed: ChangeFeed;
  readonly #claimLine: ClaimLine;
  readonly #closing = new AbortController();
  readonly #journal = new ChangeJournal({
    subscribe: (listener) => this.subscribe(listener),
    findRunId: (rolloutId) => this.runner.read((context) => findRunId(context, rolloutId)),
  });
  readonly #watchdog: Watchdog;
  readonly #openedAtMs: number;
  readonly #watchOutside: () => () => void;
  readonly #waits = new Set<Promise<unknown>>();
  readonly #indexer = new RolloutIndexer(this.runner);
  readonly #maxLostClaims: number;
  readonly #retention: RetentionPolicy | null;
  #forgetAtMs = 0;
  #retainAtMs = 0;
  #isRetaining = false;

  constructor(driver: SqlDriver, options: SqlStoreOptions) {
    const feed = new ChangeFeed();
    const { clock, quotas, claimLeaseMs } = options;
    super(new TransactionRunner({ driver, clock, feed, quotas }), claimLeaseMs);
    this.#driver = driver;
    this.#clock = options.clock;
    this.#feed = feed;
    this.#watchOutside = () => driver.onOutsideChange((changes) => feed.publish(changes));
    this.#claimLine = new ClaimLine(options.clock, feed, this.#watchOutside);
    this.#openedAtMs = options.clock.now();
    this.#maxLostClaims = options.maxLostClaims;
    this.#retention = options.retention;
    this.#watchdog = new Watchdog(options.watchdogIntervalMs, () => this.#watch());
  }

  override claimRollouts(options: SqlClaimOptions = {}): Promise<readonly AttemptedRollout[]> {
    return this.#untilEnded(this.#claimOrWait(options));
  }

  waitForRollouts(rolloutIds: readonly string[], options: WaitOptions = {}): Promise<readonly Rollout[]> {
    const waiting = waitForFinish(
      {
        clock: this.#clock,
        feed: this.#feed,
        watchOutside: this.#watchOutside,
        readFinished: (ids) => this.runner.read((context) => readFinishedRollouts(context, ids)),
      },
      {
        rolloutIds,
        timeoutMs: options.timeoutMs ?? Number.POSITIVE_INFINITY,
        signal: this.#untilClosed(options.signal),
      },
    );
    return this.#untilEnded(waiting);
  }

  /**
   * Tells about every change of the store, by this process and by others, until the function it returns is called.
   * Changes by other processes come as `unknown` where the database does not say what they were.
   *
   * @example
   * ```ts
   * const unsubscribe = store.subscribe((changes) => console.log(changes.map((change) => change.kind)));
   * ```
   */
  subscribe(listener: StoreChangeListener): () => void {
    const unsubscribe = this.#feed.subscribe(listener);
    const stopOutside = this.#watchOutside();
    return () => {
      unsubscribe();
      stopOutside();
    };
  }

  async *watchChanges(options: WatchOptions = {}): AsyncGenerator<StoreChange, void, undefined> {
    for await (const { change } of this.readChanges(options)) yield change;
  }

  /** As {@link watchChanges}, with the id of each change, after which one may go on later. */
  readChanges(reading: JournalReading): AsyncGenerator<JournalEntry, void, undefined> {
    return this.#journal.read({ ...reading, signal: this.#untilClosed(reading.signal) });
  }

  /**
   * Does something at most once for a request that may be sent more than once: its effect and its answer
   * are written together, and a request that comes again gets the answer alone.
   *
   * @throws AgentLightningError CONFLICT when the key was used for another request
   */
  once<TAnswer extends object>(
    request: IdempotentRequest,
    work: (transaction: SqlStoreOperations) => Promise<TAnswer>,
  ): Promise<TAnswer> {
    return this.runner.write((context) =>
      answerOnce(context, request, () => work(new SqlStoreOperations(runnerWithin(context), this.claimLeaseMs))),
    );
  }

  async statistics(): Promise<StoreStatistics> {
    const counts = await this.runner.read((context) => countEverything(context));
    return { name: this.#driver.name, ...counts, uptimeMs: this.#clock.now() - this.#openedAtMs };
  }

  async deleteRun(
    runId: string,
    options: SqlDeletionOptions & { readonly force?: boolean } = {},
  ): Promise<DeletionCounts> {
    const { force = false, idempotency: request } = options;
    const known = await this.runner.read(async (context) => {
      const deleted = await knownDeletion(context, request);
      if (deleted === null) await assertMayBeDeleted(context, runId, force);
      return deleted;
    });
    return known ?? this.#inParts((context) => deletePartOfRun(context, runId), request);
  }

  async applyRetention(policy: RetentionPolicy, options: SqlDeletionOptions = {}): Promise<DeletionCounts> {
    assertRetentionPolicy(policy);
    return this.#inParts((context) => applyPartOfRetention(context, policy), options.idempotency);
  }

  exportRun(runId: string): AsyncIterable<Uint8Array> {
    return exportRun(this.runner, runId);
  }

  importRun(archive: AsyncIterable<Uint8Array>): Promise<Run> {
    return this.#untilEnded(importRun(this.runner, archive));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#journal.close();
    await Promise.allSettled(this.#waits);
    await this.#watchdog.stop();
    await this.#driver.close();
  }

  async #watch(): Promise<void> {
    // Looking takes no lock, so that a store with nothing to do does not get in anybody's way.
    const { time, isOld } = await this.runner.read(async (context) => {
      const known = await readStoreTime(context);
      return { time: known, isOld: isStoreTimeOld(context, known) };
    });
    const seen = time === null || isOld ? await this.runner.write(noteStoreTime) : time;
    const expired = await this.runner.read((context) => findExpiredAttempts(context, seen.resumedMs));
    const rules = { seen, maxLostClaims: this.#maxLostClaims };
    if (expired.length > 0) await this.runner.write((context) => expireAttempts(context, rules));
    await this.#claimLine.lookAgain(() => this.runner.read(isAnythingQueued));
    this.#retain(seen);
    void this.#untilEnded(this.#indexer.round(this.#closing.signal));
    if (this.#clock.now() < this.#forgetAtMs) return;
    this.#forgetAtMs = this.#clock.now() + forgetIntervalMs;
    await this.runner.write((context) => forgetOldAnswers(context));
  }

  /** Deletes what the store's policy gives up, beside the watchdog, who need not wait for it. */
  #retain(seen: StoreTime): void {
    const policy = this.#retention;
    const nowMs = this.#clock.now();
    if (policy === null || this.#isRetaining || nowMs < this.#retainAtMs || isStoreTimeOld({ nowMs }, seen)) return;
    const graceMs = Math.min(policy.olderThanMs ?? 0, retentionGraceMs);
    if (seen.resumedMs !== null && nowMs - seen.resumedMs < graceMs) return;
    this.#retainAtMs = nowMs + retentionIntervalMs;
    this.#isRetaining = true;
    const ended = (): void => {
      this.#isRetaining = false;
    };
    // A round that fails (a full disk, a locked file) is made up for by the next one.
    void this.#untilEnded(this.#retainRound(policy)).then(ended, ended);
  }

  async #retainRound(policy: RetentionPolicy): Promise<void> {
    const isWorthIt = await this.runner.read((context) => hasAnythingToDelete(context, policy));
    if (isWorthIt) await this.#inParts((context) => applyPartOfRetention(context, policy));
  }

  #inParts(deletePart: LongDeletion['deletePart'], request?: IdempotentRequest): Promise<DeletionCounts> {
    return deleteInParts(this.runner, { deletePart, request, isClosing: () => this.#closing.signal.aborted });
  }

  async #claimOrWait(options: SqlClaimOptions): Promise<readonly AttemptedRollout[]> {
    const { idempotency, waitMs = 0, workerId = null, runId = null, limit = 1 } = options;
    assertClaimLimit(limit);
    if (options.signal?.aborted) return [];
    const claim = (): Promise<readonly AttemptedRollout[]> =>
      idempotency === undefined ? super.claimRollouts(options) : this.#claimOnce(idempotency, options);
    const claimed =
      waitMs > 0
        ? await this.#claimLine.wait(claim, { runId, waitMs, signal: this.#untilClosed(options.signal) })
        : await claim();
    if (claimed.length === 0 && workerId !== null && !this.#closing.signal.aborted) await this.#noteIdle(workerId);
    return claimed;
  }

  /** Claims, or reads again what the same request has claimed before. Finding nothing is no answer to keep. */
  #claimOnce(request: IdempotentRequest, options: ClaimOptions): Promise<readonly AttemptedRollout[]> {
    return this.runner.write(async (context) => {
      const known = await findAnswer(context, request);
      if (known !== null) return readClaimed(context, known);
      const claimed = await new SqlStoreOperations(runnerWithin(context), this.claimLeaseMs).claimRollouts(options);
      if (claimed.length > 0) await recordAnswer(context, request, claimedIds(claimed));
      return claimed;
    });
  }

  #noteIdle(workerId: string): Promise<void> {
    return this.runner.write((context) => markWorkerIdle(context, workerId));
  }

  /** Remembers a wait, for closing to wait for. */
  async #untilEnded<TResult>(wait: Promise<TResult>): Promise<TResult> {
    this.#waits.add(wait);
    try {
      return await wait;
    } finally {
      this.#waits.delete(wait);
    }
  }

  #untilClosed(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#closing.signal : AbortSignal.any([this.#closing.signal, signal]);
  }
}
