import { setImmediate } from 'node:timers/promises';

/** The transactions of a database with one connection, step by step. */
export interface GroupTransactions<TConnection> {
  readonly connection: TConnection;
  /** Begins a transaction; waits where another process is in the way. */
  begin(kind: TransactionKind): Promise<void>;
  /** Runs one of `SAVEPOINT`, `RELEASE`, and `ROLLBACK TO`, `COMMIT` or `ROLLBACK`. */
  control(statement: ControlStatement): void;
  /** Whether a transaction is open: some failures end it by themselves. */
  isOpen(): boolean;
  /** How many statements ran that may have written something. */
  writeCount(): number;
  /** What an error means to the caller. */
  errorFrom(error: unknown): unknown;
}

/** What a transaction is for. */
export type TransactionKind = 'read' | 'write';

/** What ends transactions, and parts of them. */
export type ControlStatement = 'SAVEPOINT work' | 'RELEASE work' | 'ROLLBACK TO work' | 'COMMIT' | 'ROLLBACK';

/** A piece of work with somebody who waits for it. */
interface Job<TConnection> {
  readonly kind: TransactionKind;
  readonly work: (connection: TConnection) => Promise<unknown>;
  readonly settle: (outcome: Outcome) => void;
}

type Outcome = { readonly result: unknown } | { readonly error: unknown };

/** Thrown to undo a group of which one piece of work failed after it had written something. */
const undo: unique symbol = Symbol('undo');

/** How long a group may take before it is committed without the rest of those who wait, in milliseconds. */
const longestGroupMs = 10;

/**
 * Runs pieces of work one after another, those that came in together in one transaction. Committing costs much more
 * than writing does, and hundreds of workers share the cost of it this way. Each piece is still written whole or
 * not at all, and nobody is told of a result before it is committed.
 */
export class GroupCommit<TConnection> {
  readonly #transactions: GroupTransactions<TConnection>;
  #waiting: Job<TConnection>[] = [];
  #running: Promise<void> | null = null;

  constructor(transactions: GroupTransactions<TConnection>) {
    this.#transactions = transactions;
  }

  /** Runs the work in a transaction; a read sees everything that was asked for before it. */
  run<TResult>(kind: TransactionKind, work: (connection: TConnection) => Promise<TResult>): Promise<TResult> {
    return new Promise((resolve, reject) => {
      const settle = (outcome: Outcome): void => {
        // Only the result of this work is handed to it.
        if ('result' in outcome) resolve(outcome.result as TResult);
        else reject(outcome.error);
      };
      this.#waiting.push({ kind, work, settle });
      this.#running ??= this.#runAll();
    });
  }

  /** Resolves when nothing is under way any more. */
  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  async #runAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      // The event loop has its turn, in which more may come in. A database that answers at once would starve it.
      await setImmediate();
      const waiting = this.#waiting;
      this.#waiting = [];
      // Writes first: whoever asked for a read has waited for its writes, or asked for them before.
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

  /** Runs jobs in one transaction and settles them, as many as there is time for; says how many. */
  async #runGroup(kind: TransactionKind, jobs: readonly Job<TConnection>[]): Promise<number> {
    // A savepoint before each piece of work costs as much as the work, and failures that need one are rare.
    const outcomes = (await this.#tryGroup(kind, jobs, false)) ?? (await this.#tryGroup(kind, jobs, true)) ?? [];
    for (const [index, outcome] of outcomes.entries()) jobs[index]?.settle(outcome);
    return outcomes.length;
  }

  /** Runs jobs in one transaction; null when one has failed halfway that cannot be undone without the others. */
  async #tryGroup(
    kind: TransactionKind,
    jobs: readonly Job<TConnection>[],
    hasSavepoints: boolean,
  ): Promise<readonly Outcome[] | null> {
    const transactions = this.#transactions;
    const outcomes: Outcome[] = [];
    let begun = jobs.length;
    try {
      await transactions.begin(kind);
      const deadlineMs = performance.now() + longestGroupMs;
      begun = 0;
      for (const job of jobs) {
        if (begun > 0 && performance.now() > deadlineMs) break;
        begun += 1;
        outcomes.push(hasSavepoints ? await this.#runAlone(job) : await this.#runTogether(job));
      }
      transactions.control('COMMIT');
      return outcomes;
    } catch (cause) {
      // Nothing of the group is written, so that all of it fails: also what had gone well.
      if (transactions.isOpen()) transactions.control('ROLLBACK');
      if (cause === undo) return null;
      const error = transactions.errorFrom(cause);
      return jobs.slice(0, begun).map(() => ({ error }));
    }
  }

  /** Runs a job whose failure undoes nothing unless it had written something: then the group has to be undone. */
  async #runTogether(job: Job<TConnection>): Promise<Outcome> {
    const transactions = this.#transactions;
    const before = transactions.writeCount();
    try {
      return { result: await job.work(transactions.connection) };
    } catch (error) {
      // A full disk may have ended the transaction, and with it what the others wrote.
      if (!transactions.isOpen()) throw error;
      if (transactions.writeCount() !== before) throw undo;
      return { error: transactions.errorFrom(error) };
    }
  }

  /** Runs a job whose failure undoes what it did and nothing else. */
  async #runAlone(job: Job<TConnection>): Promise<Outcome> {
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
