import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { Attempt } from '@agentlightning/core';
import { latestAttemptColumns, selectLatestAttempt } from '../operations/read-attempts.ts';
import { attemptFromRow } from '../row.ts';
import type { SqlRow } from '../sql-driver.ts';
import { sqlitePath } from '../store-location.ts';

/** Reads attempts from the file of a store that another thread writes to: what is committed, as a connection of its own. */
export class AttemptReader {
  readonly #database: DatabaseSync;
  readonly #selectLatest: StatementSync;

  private constructor(database: DatabaseSync) {
    this.#database = database;
    this.#selectLatest = database.prepare(selectLatestAttempt);
    // A row's object costs as much as finding it in the file's pages does.
    this.#selectLatest.setReturnArrays(true);
  }

  /** Null for a store that is in the memory of the other thread, or whose file cannot be read here. */
  static open(location: string): AttemptReader | null {
    const path = sqlitePath(location);
    if (path === ':memory:') return null;
    try {
      // It waits for nobody: where somebody is in the way, the other thread is asked.
      return new AttemptReader(new DatabaseSync(path, { readOnly: true, timeout: 0 }));
    } catch {
      return null;
    }
  }

  /** A rollout's latest attempt; null when it has none. Undefined when it cannot be read here. */
  latest(rolloutId: string): Attempt | null | undefined {
    try {
      const values: unknown = this.#selectLatest.get(rolloutId);
      return Array.isArray(values) ? attemptFromRow(rowOf(values)) : null;
    } catch {
      // The other thread knows what to make of it.
      return undefined;
    }
  }

  /** Lets go of the file. */
  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }
}

function rowOf(values: readonly unknown[]): SqlRow {
  const row: Record<string, unknown> = {};
  for (const [index, name] of latestAttemptColumns.entries()) row[name] = values[index];
  return row;
}
