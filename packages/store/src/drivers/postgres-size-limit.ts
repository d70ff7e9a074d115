import { AgentLightningError } from '@agentlightning/core';
import { migrations } from '../migrations/migrate.ts';
import type { SqlValue } from '../sql/sql-dialect.ts';
import type { SqlConnection } from '../sql/sql-driver.ts';
import { postgresDialect } from './postgres-dialect.ts';

/** The tables with rows of a store's runners, of its keys and of deletions, which a full store needs. Their rows are small. */
const housekeepingTables: ReadonlySet<string> = new Set([
  ...['queue', 'workers', 'store_time', 'span_counters', 'rollouts_to_search', 'access_keys', 'revoked_tokens'],
]);
/** All other tables of the schema: those of what a project records. A new table is one of them. */
const recordTables: readonly string[] = migrations
  .flatMap(({ statements }) => statements(postgresDialect))
  .flatMap((statement) => /^CREATE TABLE (\w+)/.exec(statement)?.[1] ?? [])
  .filter((table) => !housekeepingTables.has(table));
const recordInsert = new RegExp(String.raw`^\s*INSERT INTO (${recordTables.join('|')})\s`);
/** Characters of an update that adds a record rather than a status or a heartbeat. */
const maxUpdateLength = 4096;
/** The longest time between two measurements while there are writes, in milliseconds. */
const measureAfterMs = 5000;
/** Pages of a table whose rows are weighed. */
const sampledPages = 256;

/** Options of a size limit. */
export interface SizeLimitOptions {
  readonly maxBytes: number;
  /** The address of the database without its password, for errors. */
  readonly address: string;
  /** Runs work in a transaction that reads. */
  readonly read: <TResult>(work: (connection: SqlConnection) => Promise<TResult>) => Promise<TResult>;
}

/**
 * Limits the size of the tables in the schema of a store. PostgreSQL has no such limit, so the size is measured from time
 * to time, and new records are refused while it is above the limit. Deletions, and what they need, are not.
 */
export class PostgresSizeLimit {
  readonly #options: SizeLimitOptions;
  #measuredMs = -Infinity;
  /** Characters that were written since the last measurement. */
  #written = 0;
  #hasDeleted = false;
  #bytes = 0;
  #measuring: Promise<void> | null = null;

  constructor(options: SizeLimitOptions) {
    this.#options = options;
  }

  /** Before a transaction that writes: starts a measurement when one is due, and waits for it only in a full store. */
  async prepare(): Promise<void> {
    if (!this.#isDue) return;
    this.#measuring ??= this.#measure();
    if (this.#isFull) await this.#measuring;
  }

  /**
   * Admits a statement.
   *
   * @throws AgentLightningError STORE_FULL for a new record while the store is above its limit
   */
  admit(sql: string, values: readonly (SqlValue | readonly SqlValue[])[]): void {
    if (/^\s*(SELECT|WITH)/.test(sql)) return;
    const length = values.reduce<number>((sum, value) => sum + lengthOf(value), 0);
    this.#written += length;
    if (/^\s*DELETE/.test(sql)) this.#hasDeleted = true;
    else if (this.#isFull && (recordInsert.test(sql) || length > maxUpdateLength)) throw this.#fullError();
  }

  get #isFull(): boolean {
    return this.#bytes > this.#options.maxBytes;
  }

  get #isDue(): boolean {
    if (this.#isFull && this.#hasDeleted) return true;
    return this.#written > this.#options.maxBytes / 100 || performance.now() - this.#measuredMs >= measureAfterMs;
  }

  /** Keeps the last result when the database cannot be reached: the next write reports that. */
  async #measure(): Promise<void> {
    this.#measuredMs = performance.now();
    this.#written = 0;
    this.#hasDeleted = false;
    const { maxBytes, read } = this.#options;
    const bytes = await read((connection) => recordBytes(connection, maxBytes)).catch(() => null);
    this.#bytes = bytes ?? this.#bytes;
    this.#measuring = null;
  }

  #fullError(): AgentLightningError {
    const { address, maxBytes } = this.#options;
    return new AgentLightningError({
      code: 'STORE_FULL',
      message: `The store in the database ${address} has ${Math.round(this.#bytes)} bytes, more than its limit of ${maxBytes}`,
      details: { bytes: Math.round(this.#bytes), maxBytes },
    });
  }
}

function lengthOf(value: SqlValue | readonly SqlValue[]): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + lengthOf(each), 0);
  return typeof value === 'string' ? value.length : 8;
}

/** A table on the disk: its rows with their large values, and these with the indexes. */
interface TableSize {
  readonly name: string;
  readonly rowBytes: number;
  readonly allBytes: number;
  readonly pages: number;
}

/**
 * The bytes of the rows and indexes of the tables of records. Files do not shrink when rows are deleted: files above the
 * limit count by the share of their live rows, which is estimated from some of their pages.
 */
async function recordBytes(connection: SqlConnection, maxBytes: number): Promise<number> {
  const rows = await connection.all(
    `SELECT c.relname::text AS name, pg_total_relation_size(c.oid) AS all_bytes,
       pg_relation_size(c.oid) / current_setting('block_size')::bigint AS pages,
       pg_relation_size(c.oid) + coalesce(pg_relation_size(nullif(c.reltoastrelid, 0)), 0) AS row_bytes
     FROM pg_catalog.pg_class AS c
     WHERE c.relnamespace = quote_ident(current_schema())::regnamespace AND c.relname = ANY(string_to_array(?, ','))
       AND c.relkind = 'r'`,
    [recordTables.join(',')],
  );
  const tables = rows.map(
    (row): TableSize => ({
      name: String(row['name']),
      rowBytes: Number(row['row_bytes']),
      allBytes: Number(row['all_bytes']),
      pages: Number(row['pages']),
    }),
  );
  const total = tables.reduce((sum, table) => sum + table.allBytes, 0);
  if (total <= maxBytes) return total;
  let live = 0;
  for (const table of tables) live += table.allBytes * (await liveShare(connection, table));
  return live;
}

/** The share of the files of a table that its live rows have, from a sample of its pages. */
async function liveShare(connection: SqlConnection, { name, rowBytes, pages }: TableSize): Promise<number> {
  if (pages === 0) return 0;
  const columns = await connection.all(
    `SELECT quote_ident(attname) AS name FROM pg_catalog.pg_attribute
     WHERE attrelid = quote_ident(?)::regclass AND attnum > 0 AND NOT attisdropped`,
    [name],
  );
  // The size on the disk of a large value, which this does not read.
  const sizes = columns.map((column) => `coalesce(pg_column_size(${String(column['name'])}), 0)`).join(' + ');
  const percent = Math.min(100, (100 * sampledPages) / pages);
  const [sample] = await connection.all(
    `SELECT coalesce(sum(${rowHeaderBytes} + ${sizes}), 0)::double precision AS bytes
     FROM "${name}" TABLESAMPLE SYSTEM (${percent.toFixed(6)})`,
  );
  return Math.min(1, (Number(sample?.['bytes']) * (100 / percent)) / rowBytes);
}

/** Of a row and of its place in a page. */
const rowHeaderBytes = 28;
