import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import {
  AgentLightningError,
  type Clock,
  type Rollout,
  type Run,
  type Store,
  ValidationError,
} from '@agentlightning/core';
import { AttemptTokens, attemptTokenDigest } from '@agentlightning/core/protocol';
import type {
  AttemptedRollout,
  ClaimOptions,
  DeletionCounts,
  RetentionPolicy,
  RolloutSearch,
  RolloutSearchPage,
  StoreChange,
  StoreStatistics,
  WaitOptions,
  WatchOptions,
} from '@agentlightning/core/store';
import { archiveError } from './archive/archive-lines.ts';
import { exportRun } from './archive/export-run.ts';
import { readArchive } from './archive/read-archive.ts';
import { WriteArchive } from './archive/write-archive.ts';
import { ChangeFeed, type StoreChangeListener } from './changes/change-feed.ts';
import { ChangeJournal, type JournalEntry, type JournalReading } from './changes/change-journal.ts';
import { applyRetentionBatch, assertRetentionPolicy, hasAnythingToDelete } from './operations/apply-retention.ts';
import { ClaimQueue } from './operations/attempts/claim-queue.ts';
import { assertClaimLimit, claimedIds, isAnythingQueued, readClaimed } from './operations/attempts/claim-rollouts.ts';
import { expireAttempts, isAnythingExpired } from './operations/attempts/expire-attempts.ts';
import { waitForFinish } from './operations/attempts/wait-for-finish.ts';
import { countRows } from './operations/count-rows.ts';
import { findRunId, loadRun } from './operations/records/read-runs.ts';
import {
  deleteExpiredResponses,
  findResponse,
  type IdempotentRequest,
  recordResponse,
  runIdempotent,
} from './operations/records/run-idempotent.ts';
import { isStoreTimeStale, readStoreTime, recordStoreTime, type StoreTime } from './operations/records/store-time.ts';
import { markWorkerIdle } from './operations/records/worker-record.ts';
import { readFinishedRollouts } from './operations/rollouts/read-rollouts.ts';
import { type BatchedDeletion, deleteInBatches, findCompletedDeletion } from './operations/runs/delete-in-batches.ts';
import { assertDeletable, deleteBatchOfRun } from './operations/runs/delete-run.ts';
import { RolloutIndexer } from './rollout-indexer.ts';
import {
  type OperationContext,
  type OperationRunner,
  runnerWithin,
  TransactionRunner,
} from './sql/operation-runner.ts';
import { readText } from './sql/row-value.ts';
import type { SqlDriver } from './sql/sql-driver.ts';
import { SqlStoreOperations } from './sql-store-operations.ts';
import type { SqlClaimOptions, SqlDeletionOptions, SqlStoreOptions } from './sql-store-options.ts';
import { Watchdog } from './watchdog.ts';

export type { SqlClaimOptions, SqlDeletionOptions } from './sql-store-options.ts';

/** Interval of the deletion of expired idempotent responses, in milliseconds. */
const responseCleanupIntervalMs = 3_600_000;

/** Interval of the automatic deletion, in milliseconds. */
const retentionIntervalMs = 60_000;

/** Maximum number of batches of texts that a search indexes first: about a quarter of a second. */
const textBatchesPerSearch = 4;

/** Pause of the automatic deletion after downtime or a clock jump, in milliseconds: clocks get corrected. */
const retentionGraceMs = 3_600_000;

/** The store on an SQL database. Open one with `openStore`. */
export class SqlStore extends SqlStoreOperations implements Store {
  readonly #driver: SqlDriver;
  readonly #clock: Clock;
  readonly #feed: ChangeFeed;
  readonly #claimQueue: ClaimQueue;
  readonly #closing = new AbortController();
  readonly #journal = new ChangeJournal({
    subscribe: (listener) => this.subscribe(listener),
    findRunId: (rolloutId) => this.runner.read((context) => findRunId(context, rolloutId)),
  });
  readonly #watchdog: Watchdog;
  readonly #openedAtMs: number;
  readonly #watchExternal: () => () => void;
  readonly #waits = new Set<Promise<unknown>>();
  readonly #indexer = new RolloutIndexer(this.runner);
  readonly #options: SqlStoreOptions;
  #nextResponseCleanupMs = 0;
  #nextRetentionMs = 0;
  #isRetaining = false;

  constructor(driver: SqlDriver, options: SqlStoreOptions) {
    const feed = new ChangeFeed();
    const { clock, quotas, claimLeaseMs } = options;
    super(new TransactionRunner({ driver, clock, feed, quotas }), claimLeaseMs);
    this.#driver = driver;
    this.#clock = options.clock;
    this.#feed = feed;
    this.#watchExternal = () => driver.onExternalChange((changes) => feed.publish(changes));
    this.#claimQueue = new ClaimQueue(options.clock, feed, this.#watchExternal);
    this.#openedAtMs = options.clock.now();
    this.#options = options;
    this.#watchdog = new Watchdog(options.watchdogIntervalMs, () => this.#watch());
  }

  /** Reports the time for which each operation kept the thread busy, in milliseconds; never on PostgreSQL. */
  onBusy(listener: (ms: number) => void): void {
    this.#driver.onBusy?.(listener);
  }

  /** Claims queued rollouts. */
  override claimRollouts(options: SqlClaimOptions = {}): Promise<readonly AttemptedRollout[]> {
    return this.#untilEnded(this.#claimOrWait(options));
  }

  /** Waits until rollouts have ended. */
  waitForRollouts(rolloutIds: readonly string[], options: WaitOptions = {}): Promise<readonly Rollout[]> {
    const waiting = waitForFinish(
      {
        clock: this.#clock,
        feed: this.#feed,
        watchExternal: this.#watchExternal,
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

  /** Rollouts by their text, rewards, labels and times. */
  override async searchRollouts(search: RolloutSearch = {}): Promise<RolloutSearchPage> {
    if (search.text !== undefined) await this.#untilEnded(this.#indexer.indexTexts(textBatchesPerSearch));
    return super.searchRollouts(search);
  }

  /**
   * Subscribes to all changes of the store, by this and by other processes; returns the function that unsubscribes.
   * Changes by other processes are `unknown` where the database does not report them in detail.
   *
   * @example
   * ```ts
   * const unsubscribe = store.subscribe((changes) => console.log(changes.map((change) => change.kind)));
   * ```
   */
  subscribe(listener: StoreChangeListener): () => void {
    const unsubscribe = this.#feed.subscribe(listener);
    const stopExternal = this.#watchExternal();
    return () => {
      unsubscribe();
      stopExternal();
    };
  }

  /** The changes of the store as they happen. */
  async *watchChanges(options: WatchOptions = {}): AsyncGenerator<StoreChange, void, undefined> {
    for await (const { change } of this.readChanges(options)) yield change;
  }

  /** As {@link watchChanges}, with the id of each change, from which a reader can resume. */
  readChanges(reading: JournalReading): AsyncGenerator<JournalEntry, void, undefined> {
    return this.#journal.read({ ...reading, signal: this.#untilClosed(reading.signal) });
  }

  /**
   * Executes a retried request at most once: its effect and its response are written in one transaction, and a
   * repeated request returns the stored response.
   *
   * @throws AgentLightningError CONFLICT when the key was used for another request
   */
  once<TResponse extends object>(
    request: IdempotentRequest,
    work: (transaction: SqlStoreOperations) => Promise<TResponse>,
  ): Promise<TResponse> {
    return this.runner.write((context) =>
      runIdempotent(context, request, () => work(new SqlStoreOperations(runnerWithin(context), this.claimLeaseMs))),
    );
  }

  /** Counts of the records in the store. */
  async statistics(): Promise<StoreStatistics> {
    const counts = await this.runner.read((context) => countRows(context));
    return { name: this.#driver.name, ...counts, uptimeMs: this.#clock.now() - this.#openedAtMs };
  }

  /** Deletes a run with its rollouts. */
  async deleteRun(
    runId: string,
    options: SqlDeletionOptions & { readonly force?: boolean } = {},
  ): Promise<DeletionCounts> {
    const { force = false, idempotency: request } = options;
    const known = await this.runner.read(async (context) => {
      const deleted = await findCompletedDeletion(context, request);
      if (deleted === null) await assertDeletable(context, runId, force);
      return deleted;
    });
    return known ?? this.#deleteInBatches((context) => deleteBatchOfRun(context, runId), request);
  }

  /** Deletes what a retention policy no longer keeps. */
  async applyRetention(policy: RetentionPolicy, options: SqlDeletionOptions = {}): Promise<DeletionCounts> {
    assertRetentionPolicy(policy);
    return this.#deleteInBatches((context) => applyRetentionBatch(context, policy), options.idempotency);
  }

  /** Ends the validity of a token. */
  revokeAttemptToken(token: string): Promise<void> {
    return this.runner.write((context) => revokeAttemptToken(context, token));
  }

  /** The revoked tokens, as digests. */
  revokedAttemptTokens(): Promise<readonly string[]> {
    return this.runner.read(revokedAttemptTokens);
  }

  /** The archive of a run. */
  exportRun(runId: string): AsyncIterable<Uint8Array> {
    return exportRun(this.runner, runId);
  }

  /** Stores the run of an archive. */
  importRun(archive: AsyncIterable<Uint8Array>): Promise<Run> {
    return this.#untilEnded(importRun(this.runner, archive));
  }

  /** Closes the database. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#journal.close();
    await Promise.allSettled(this.#waits);
    await this.#watchdog.stop();
    await this.#driver.close();
  }

  async #watch(): Promise<void> {
    await this.#options.adjustClock?.();
    // Reads take no lock: an idle store does not block writers.
    const { time, isOld } = await this.runner.read(async (context) => {
      const known = await readStoreTime(context);
      return { time: known, isOld: isStoreTimeStale(context, known) };
    });
    const seen = time === null || isOld ? await this.runner.write(recordStoreTime) : time;
    const isExpired = await this.runner.read((context) => isAnythingExpired(context, seen.resumedMs));
    const rules = { seen, maxLostClaims: this.#options.maxLostClaims };
    if (isExpired) await this.runner.write((context) => expireAttempts(context, rules));
    await this.#claimQueue.poll(() => this.runner.read(isAnythingQueued));
    this.#startRetention(seen);
    void this.#untilEnded(this.#indexer.run(this.#closing.signal));
    if (this.#clock.now() < this.#nextResponseCleanupMs) return;
    this.#nextResponseCleanupMs = this.#clock.now() + responseCleanupIntervalMs;
    await this.runner.write((context) => deleteExpiredResponses(context));
  }

  /** Applies the store's retention policy in the background of the watchdog. */
  #startRetention(seen: StoreTime): void {
    const policy = this.#options.retention;
    const nowMs = this.#clock.now();
    if (policy === null || this.#isRetaining || nowMs < this.#nextRetentionMs || isStoreTimeStale({ nowMs }, seen))
      return;
    const graceMs = Math.min(policy.olderThanMs ?? 0, retentionGraceMs);
    if (seen.resumedMs !== null && nowMs - seen.resumedMs < graceMs) return;
    this.#nextRetentionMs = nowMs + retentionIntervalMs;
    this.#isRetaining = true;
    const ended = (): void => {
      this.#isRetaining = false;
    };
    // Errors (a full disk, a locked file) are swallowed: the next round retries.
    void this.#untilEnded(this.#retainRound(policy)).then(ended, ended);
  }

  async #retainRound(policy: RetentionPolicy): Promise<void> {
    const hasWork = await this.runner.read((context) => hasAnythingToDelete(context, policy));
    if (hasWork) await this.#deleteInBatches((context) => applyRetentionBatch(context, policy));
  }

  #deleteInBatches(deleteBatch: BatchedDeletion['deleteBatch'], request?: IdempotentRequest): Promise<DeletionCounts> {
    return deleteInBatches(this.runner, { deleteBatch, request, isClosing: () => this.#closing.signal.aborted });
  }

  async #claimOrWait(options: SqlClaimOptions): Promise<readonly AttemptedRollout[]> {
    const { idempotency, waitMs = 0, workerId = null, runId = null, limit = 1 } = options;
    assertClaimLimit(limit);
    if (options.signal?.aborted) return [];
    const claim = (): Promise<readonly AttemptedRollout[]> =>
      idempotency === undefined ? super.claimRollouts(options) : this.#claimOnce(idempotency, options);
    const claimed =
      waitMs > 0
        ? await this.#claimQueue.wait(claim, { runId, waitMs, signal: this.#untilClosed(options.signal) })
        : await claim();
    if (claimed.length === 0 && workerId !== null && !this.#closing.signal.aborted) await this.#recordIdle(workerId);
    return claimed;
  }

  /** Claims, or returns the rollouts that the same request claimed before. An empty result is not stored. */
  #claimOnce(request: IdempotentRequest, options: ClaimOptions): Promise<readonly AttemptedRollout[]> {
    return this.runner.write(async (context) => {
      const known = await findResponse(context, request);
      if (known !== null) return readClaimed(context, known);
      const claimed = await new SqlStoreOperations(runnerWithin(context), this.claimLeaseMs).claimRollouts(options);
      if (claimed.length > 0) await recordResponse(context, request, claimedIds(claimed));
      return claimed;
    });
  }

  #recordIdle(workerId: string): Promise<void> {
    return this.runner.write((context) => markWorkerIdle(context, workerId));
  }

  /** Tracks a promise until it settles: `close` awaits it. */
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

/**
 * Imports a run from an archive atomically. The archive is buffered in a file and verified before the transaction
 * begins: a slow sender blocks no writers, and an invalid archive is never visible.
 *
 * @throws ValidationError when the archive is truncated, modified, or not an archive
 * @throws AgentLightningError CONFLICT when the run or one of its rollouts already exists
 */
async function importRun(runner: OperationRunner, archive: AsyncIterable<Uint8Array>): Promise<Run> {
  const folder = await mkdtemp(join(tmpdir(), 'agl-import-'));
  const file = join(folder, 'run.gz');
  try {
    await pipeline(archive, createWriteStream(file));
    await checkArchive(file);
    return await runner.write((context) => writeRun(context, file));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Reads the archive to its checksum at the end. */
async function checkArchive(file: string): Promise<void> {
  for await (const _record of readArchive(file));
}

async function writeRun(context: OperationContext, file: string): Promise<Run> {
  const writing = new WriteArchive(context);
  for await (const record of readArchive(file)) await writing.write(record);
  await writing.finish();
  if (writing.runId === null) throw archiveError('contains no run');
  return loadRun(context, writing.runId);
}

/**
 * Adds an attempt token to the revoked ones until it expires, and deletes those that have expired.
 *
 * @throws ValidationError when the text has not the form of a token
 */
async function revokeAttemptToken(context: OperationContext, token: string): Promise<void> {
  const { expiresAtMs } = claimsOf(token);
  await context.db.run('DELETE FROM revoked_tokens WHERE expire_time_ms <= ?', [context.nowMs]);
  if (expiresAtMs <= context.nowMs) return;
  await context.db.run(
    'INSERT INTO revoked_tokens (token_digest, expire_time_ms) VALUES (?, ?) ON CONFLICT (token_digest) DO NOTHING',
    [await attemptTokenDigest(token), expiresAtMs],
  );
}

/** The digests of the revoked tokens that have not expired. */
async function revokedAttemptTokens(context: OperationContext): Promise<readonly string[]> {
  const rows = await context.db.all(
    'SELECT token_digest FROM revoked_tokens WHERE expire_time_ms > ? ORDER BY token_digest',
    [context.nowMs],
  );
  return rows.map((row) => readText(row, 'token_digest'));
}

function claimsOf(token: string): ReturnType<typeof AttemptTokens.uncheckedClaims> {
  try {
    return AttemptTokens.uncheckedClaims(token);
  } catch (error) {
    if (!AgentLightningError.isInstance(error)) throw error;
    const message = 'is not a token of an attempt. Pass the whole token, beginning with aglat.';
    throw new ValidationError('Token', [{ path: 'token', message }], error);
  }
}
