import type { Clock } from '@agentlightning/core';
import type { AttemptQuotas } from '../attempt-quotas.ts';
import { type ChangeFeed, ChangeRecorder } from '../changes/change-feed.ts';
import type { SqlDialect } from './sql-dialect.ts';
import type { SqlConnection, SqlDriver } from './sql-driver.ts';

/** The context of an operation: one transaction with a fixed time. */
export interface OperationContext {
  readonly db: SqlConnection;
  readonly dialect: SqlDialect;
  /** The current time in Unix milliseconds. */
  readonly nowMs: number;
  /** Records the changes that are published after the commit. */
  readonly changes: ChangeRecorder;
  readonly quotas: AttemptQuotas;
  /**
   * Whether the operation has the semantics of the Agent Lightning 0.3 protocol where the store is stricter: unknown
   * resources are accepted, numbers are reserved for unknown attempts, and finished rollouts take new attempts.
   * @default false
   */
  readonly isLenient?: boolean;
}

/** The time of an operation, rounded to microseconds: the resolution of the store protocol's seconds. */
export function operationTime(clock: Clock): number {
  return Math.round(clock.now() * 1000) / 1000;
}

/** An operation with bound arguments that runs in a given transaction. */
export type Operation<TResult> = (context: OperationContext) => Promise<TResult>;

/** Runs operations in transactions. */
export interface OperationRunner {
  /** Runs a read-only operation. */
  read<TResult>(operation: Operation<TResult>): Promise<TResult>;
  /** Runs a writing operation atomically. */
  write<TResult>(operation: Operation<TResult>): Promise<TResult>;
}

/** Dependencies of a transaction runner. */
export interface TransactionRunnerOptions {
  readonly driver: SqlDriver;
  readonly clock: Clock;
  readonly feed: ChangeFeed;
  readonly quotas: AttemptQuotas;
}

/** Runs each operation in a separate transaction and publishes its changes. */
export class TransactionRunner implements OperationRunner {
  readonly #driver: SqlDriver;
  readonly #clock: Clock;
  readonly #feed: ChangeFeed;
  readonly #quotas: AttemptQuotas;

  constructor({ driver, clock, feed, quotas }: TransactionRunnerOptions) {
    this.#driver = driver;
    this.#clock = clock;
    this.#feed = feed;
    this.#quotas = quotas;
  }

  read<TResult>(operation: Operation<TResult>): Promise<TResult> {
    return this.#driver.read((db) => operation(this.#context(db, new ChangeRecorder())));
  }

  async write<TResult>(operation: Operation<TResult>): Promise<TResult> {
    const written = await this.#driver.write(
      async (db) => {
        const recorder = new ChangeRecorder();
        const result = await operation(this.#context(db, recorder));
        return { result, changes: recorder.changes };
      },
      ({ changes }) => changes,
    );
    this.#feed.publish(written.changes);
    return written.result;
  }

  #context(db: OperationContext['db'], changes: ChangeRecorder): OperationContext {
    return { db, dialect: this.#driver.dialect, nowMs: operationTime(this.#clock), changes, quotas: this.#quotas };
  }
}

/** Runs every operation in a transaction that is already open. */
export function runnerWithin(context: OperationContext): OperationRunner {
  return { read: (operation) => operation(context), write: (operation) => operation(context) };
}

/** Runs operations with the semantics of the Agent Lightning 0.3 protocol; see `OperationContext.isLenient`. */
export function lenientRunner(runner: OperationRunner): OperationRunner {
  return {
    read: (operation) => runner.read((context) => operation({ ...context, isLenient: true })),
    write: (operation) => runner.write((context) => operation({ ...context, isLenient: true })),
  };
}
