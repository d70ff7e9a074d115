import { setImmediate } from 'node:timers/promises';

/** Transaction control of a database with one connection. */
export interface GroupTransactions<TConnection> {
  readonly connection: TConnection;
  /** Begins a transaction; waits while another process holds the lock. */
  begin(kind: TransactionKind): Promise<void>;
  /** Runs a control statement. */
  control(statement: ControlStatement): void;
  /** Whether a transaction is open: some failures end it implicitly. */
  isOpen(): boolean;
  /** Number of statements so far that may have written. */
  writeCount(): number;
  /** Converts a database error to a store error. */
  errorFrom(error: unknown): unknown;
}

/** Kind of transaction. */
export type TransactionKind = 'read' | 'write';

/** Statements that control transactions and savepoints. */
export type ControlStatement = 'SAVEPOINT work' | 'RELEASE work' | 'ROLLBACK TO work' | 'COMMIT' | 'ROLLBACK';

/** A unit of work with its pending caller. */
interface Job<TConnection> {
  readonly kind: TransactionKind;
  readonly work: (connection: TConnection) => Promise<unknown>;
  readonly settle: (outcome: Outcome) => void;
}

type Outcome = { readonly result: unknown } | { readonly error: unknown };

/** Thrown to roll back a group in which a job failed after it had written. */
const rollbackGroup: unique symbol = Symbol('rollback group');

/** Duration after which a group is committed without the remaining jobs, in milliseconds. */
const maxGroupMs = 10;

/**
 * Runs jobs sequentially and groups concurrent ones into one transaction, because a commit costs much more than a
 * write. Each job is still atomic, and results are returned only after the commit.
 */
export class GroupCommit<TConnection> {
  readonly #transactions: GroupTransactions<TConnection>;
  /** Receives the time for which each group kept the thread busy, in milliseconds. */
  onBusy: (ms: number) => void = () => undefined;
  #waiting: Job<TConnection>[] = [];
  #running: Promise<void> | null = null;

  constructor(transactions: GroupTransactions<TConnection>) {
    this.#transactions = transactions;
  }

  /** Runs the work in a transaction; a read sees all writes queued before it. */
  run<TResult>(kind: TransactionKind, work: (connection: TConnection) => Promise<TResult>): Promise<TResult> {
    return new Promise((resolve, reject) => {
      const settle = (outcome: Outcome): void => {
        // The result belongs to this job's work, so it has its type.
        if ('result' in outcome) resolve(outcome.result as TResult);
        else reject(outcome.error);
      };
      this.#waiting.push({ kind, work, settle });
      this.#running ??= this.#runAll();
    });
  }

  /** Resolves when no job is pending. */
  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  async #runAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Yields to the event loop, which the synchronous database would starve, and collects more jobs.
      await setImmediate();
      const waiting = this.#waiting;
      this.#waiting = [];
      // Writes first: a read must see the writes queued before it.
      for (const kind of ['write', 'read'] as const) {
        const jobs = waiting.filter((job) => job.kind === kind);
        for (let done = 0; done < jobs.length; ) {
          if (done > 0) await setImmediate();
          done += await this.#runGroup(kind, jobs.slice(done));
        }
      }
    }
    this.#running = null;
  }

  /** Runs jobs in one transaction until the time limit, settles them and returns their number. */
  async #runGroup(kind: TransactionKind, jobs: readonly Job<TConnection>[]): Promise<number> {
    // A savepoint per job costs as much as the job, and failures that need one are rare.
    const outcomes = (await this.#tryGroup(kind, jobs, false)) ?? (await this.#tryGroup(kind, jobs, true)) ?? [];
    for (const [index, outcome] of outcomes.entries()) jobs[index]?.settle(outcome);
    return outcomes.length;
  }

  /** Runs jobs in one transaction; null when a job failed that cannot be rolled back without the others. */
  async #tryGroup(
    kind: TransactionKind,
    jobs: readonly Job<TConnection>[],
    hasSavepoints: boolean,
  ): Promise<readonly Outcome[] | null> {
    const transactions = this.#transactions;
    const outcomes: Outcome[] = [];
    let begun = jobs.length;
    let startedMs = performance.now();
    try {
      await transactions.begin(kind);
      // Another process may have held the lock.
      startedMs = performance.now();
      const deadlineMs = startedMs + maxGroupMs;
      begun = 0;
      for (const job of jobs) {
        if (begun > 0 && performance.now() > deadlineMs) break;
        begun += 1;
        outcomes.push(hasSavepoints ? await this.#runInSavepoint(job) : await this.#runWithoutSavepoint(job));
      }
      transactions.control('COMMIT');
      return outcomes;
    } catch (cause) {
      // The group is rolled back, so all of its jobs fail, including successful ones.
      if (transactions.isOpen()) transactions.control('ROLLBACK');
      if (cause === rollbackGroup) return null;
      const error = transactions.errorFrom(cause);
      return jobs.slice(0, begun).map(() => ({ error }));
    } finally {
      this.onBusy(performance.now() - startedMs);
    }
  }

  /** Runs a job without a savepoint: if it fails after a write, the group must be rolled back. */
  async #runWithoutSavepoint(job: Job<TConnection>): Promise<Outcome> {
    const transactions = this.#transactions;
    const before = transactions.writeCount();
    try {
      return { result: await job.work(transactions.connection) };
    } catch (error) {
      // A full disk may have ended the transaction and with it the writes of other jobs.
      if (!transactions.isOpen()) throw error;
      if (transactions.writeCount() !== before) throw rollbackGroup;
      return { error: transactions.errorFrom(error) };
    }
  }

  /** Runs a job whose failure rolls back its own writes only. */
  async #runInSavepoint(job: Job<TConnection>): Promise<Outcome> {
    const transactions = this.#transactions;
    transactions.control('SAVEPOINT work');
    try {
      const result = await job.work(transactions.connection);
      transactions.control('RELEASE work');
      return { result };
    } catch (error) {
      if (!transactions.isOpen()) throw error;
      transactions.control('ROLLBACK TO work');
      transactions.control('RELEASE work');
      return { error: transactions.errorFrom(error) };
    }
  }
}
