import type {
  AttemptedRollout,
  ClaimOptions,
  Clock,
  Rollout,
  Store,
  StoreStatistics,
  WaitOptions,
} from '@agentlightning/core';
import { ClaimLine } from './claim-line.ts';
import { waitForFinish } from './finish-waits.ts';
import type { OperationContext } from './operation.ts';
import { runnerWithin, TransactionRunner } from './operation-runner.ts';
import { findAnswer, forgetOldAnswers, type IdempotentRequest, recordAnswer } from './operations/answer-once.ts';
import { assertClaimLimit, claimedIds, readClaimed } from './operations/claim-rollouts.ts';
import { countEverything } from './operations/count-everything.ts';
import { expireAttempts, findExpiredAttempts } from './operations/expire-attempts.ts';
import { readFinishedRollouts } from './operations/read-rollouts.ts';
import { markWorkerDequeued, markWorkerIdle } from './operations/worker-record.ts';
import type { SqlDriver } from './sql-driver.ts';
import { SqlStoreOperations, type StoreTransaction } from './sql-store-operations.ts';
import { ChangeFeed, type StoreChangeListener } from './store-change.ts';
import { Watchdog } from './watchdog.ts';

/** What an {@link SqlStore} works with. */
export interface SqlStoreOptions {
  readonly clock: Clock;
  /** How long a claimed attempt may stay unheard of, in milliseconds. */
  readonly claimLeaseMs: number;
  /** How often the watchdog looks for attempts whose time is up, in milliseconds. */
  readonly watchdogIntervalMs: number;
}

/** How to claim from an {@link SqlStore}. */
export interface SqlClaimOptions extends ClaimOptions {
  /** Makes the claim repeatable: a claim that is sent again gets the same rollouts, and no others. */
  readonly idempotency?: IdempotentRequest;
}

/** How often answers to old requests are cleared away, in milliseconds. */
const forgetIntervalMs = 3_600_000;

/** The store on an SQL database. Open one with `openStore`. */
export class SqlStore extends SqlStoreOperations implements Store {
  readonly #driver: SqlDriver;
  readonly #clock: Clock;
  readonly #feed: ChangeFeed;
  readonly #claimLine: ClaimLine;
  readonly #closing = new AbortController();
  readonly #watchdog: Watchdog;
  readonly #openedAtMs: number;
  readonly #watchOutside: () => () => void;
  readonly #waits = new Set<Promise<unknown>>();
  #forgetAtMs = 0;

  constructor(driver: SqlDriver, options: SqlStoreOptions) {
    const feed = new ChangeFeed();
    super(new TransactionRunner(driver, options.clock, feed), options.claimLeaseMs);
    this.#driver = driver;
    this.#clock = options.clock;
    this.#feed = feed;
    this.#watchOutside = () => driver.onOutsideChange((changes) => feed.publish(changes));
    this.#claimLine = new ClaimLine(options.clock, feed, this.#watchOutside);
    this.#openedAtMs = options.clock.now();
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

  /**
   * Does something at most once for a request that may be sent more than once: its effect and its answer
   * are written together, and a request that comes again gets the answer alone.
   *
   * @throws AgentLightningError CONFLICT when the key was used for another request
   */
  once<TAnswer extends object>(
    request: IdempotentRequest,
    work: (transaction: StoreTransaction) => Promise<TAnswer>,
  ): Promise<TAnswer> {
    return this.runner.write(async (context) => {
      const known = await findAnswer(context, request);
      // Trusted: the same request wrote it, from a value of this type.
      if (known !== null) return JSON.parse(known) as TAnswer;
      const answer = await work(new SqlStoreOperations(runnerWithin(context), this.claimLeaseMs));
      await recordAnswer(context, request, JSON.stringify(answer));
      return answer;
    });
  }

  async statistics(): Promise<StoreStatistics> {
    const counts = await this.runner.read((context) => countEverything(context));
    return { name: this.#driver.name, ...counts, uptimeMs: this.#clock.now() - this.#openedAtMs };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#waits);
    await this.#watchdog.stop();
    await this.#driver.close();
  }

  async #watch(): Promise<void> {
    // Looking takes no lock, so that a store with nothing to do does not get in anybody's way.
    const expired = await this.runner.read((context) => findExpiredAttempts(context));
    if (expired.length > 0) await this.runner.write((context) => expireAttempts(context));
    if (this.#clock.now() < this.#forgetAtMs) return;
    this.#forgetAtMs = this.#clock.now() + forgetIntervalMs;
    await this.runner.write((context) => forgetOldAnswers(context));
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
    return this.runner.write(async (context: OperationContext) => {
      await markWorkerDequeued(context, workerId);
      await markWorkerIdle(context, workerId);
    });
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
