import type { ClientBase, ClientConfig, QueryResult } from 'pg';
import pg from 'pg';
import type { SqlValue } from '../sql/sql-dialect.ts';
import { type InsertTarget, onConflict, type SqlConnection, type SqlRow } from '../sql/sql-driver.ts';
import { decodeText, encodeText } from './postgres-dialect.ts';
import type { PostgresSizeLimit } from './postgres-size-limit.ts';

const bigintType = 20;
const textType = 25;
/** Idle time before the first TCP keep-alive probe, in milliseconds. */
const keepAliveAfterMs = 10_000;

/** Session settings of a new connection. */
const sessionSettings = `SELECT
  set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false),
  set_config('idle_in_transaction_session_timeout', '60000', false),
  set_config('jit', 'off', false)`;

const types: ClientConfig['types'] = {
  getTypeParser: ((type: number, format?: 'text') => {
    // The store's integers are safe integers.
    if (type === bigintType) return Number;
    if (type === textType) return decodeText;
    return pg.types.getTypeParser(type, format);
  }) as typeof pg.types.getTypeParser,
};

/** The client configuration for a database URL. */
export function connectionConfig(url: string, connectTimeoutMs: number): ClientConfig {
  return {
    connectionString: url,
    fallback_application_name: 'agentlightning',
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveAfterMs,
    // Sends statements without waiting for the response to the previous one.
    pipeline: true,
    types,
  };
}

/** Applies the session settings to a new connection. The first statement, pipelined behind it, reports errors. */
export function setUpConnection(client: ClientBase): void {
  client.on('error', ignore);
  client.query(sessionSettings).catch(ignore);
}

/** Runs the store's statements on a connection of PostgreSQL. */
export class PostgresConnection implements SqlConnection {
  readonly #client: ClientBase;
  readonly #limit: PostgresSizeLimit | null;
  #hasWritten = false;

  /** @param limit - refuses records of a store that is full; null where there is no limit, or for reading */
  constructor(client: ClientBase, limit: PostgresSizeLimit | null = null) {
    this.#client = client;
    this.#limit = limit;
  }

  /** Whether a statement has written. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  async all(sql: string, parameters: readonly SqlValue[] = []): Promise<readonly SqlRow[]> {
    return (await this.#query(sql, parameters.map(encoded))).rows;
  }

  async run(sql: string, parameters: readonly SqlValue[] = []): Promise<number> {
    return (await this.#query(sql, parameters.map(encoded))).rowCount ?? 0;
  }

  async insert(target: InsertTarget, rows: readonly (readonly SqlValue[])[]): Promise<void> {
    const { table, columns } = target;
    if (rows.length === 0) return;
    const names = Object.keys(columns);
    const arrays = Object.values(columns).map((type) => `?::${arrayTypes[type]}`);
    // One array per column instead of one placeholder per value: the same statement serves any number of rows.
    await this.#query(
      `INSERT INTO ${table} (${names.join(', ')}) SELECT * FROM unnest(${arrays.join(', ')})${onConflict(target)}`,
      names.map((_, index) => rows.map((row) => encoded(row[index] ?? null))),
    );
  }

  async #query(sql: string, values: readonly (SqlValue | readonly SqlValue[])[]): Promise<QueryResult<SqlRow>> {
    this.#limit?.admit(sql, values);
    const result = await this.#client.query<SqlRow>({ ...postgresStatement(sql), values: [...values] });
    if (result.command !== 'SELECT' && result.rowCount !== 0) this.#hasWritten = true;
    return result;
  }
}

const arrayTypes = { text: 'text[]', integer: 'bigint[]', real: 'double precision[]' } as const;

function encoded(value: SqlValue): SqlValue {
  return typeof value === 'string' ? encodeText(value) : value;
}

function ignore(): void {}

/** A statement in PostgreSQL's syntax. */
interface PostgresStatement {
  /** Name of the prepared statement; undefined for an unprepared one. */
  readonly name: string | undefined;
  readonly text: string;
}

const maxPrepared = 500;
const prepared = new Map<string, PostgresStatement>();

/** Converts `?` placeholders to numbered ones and names the statement for reuse as a prepared statement. */
function postgresStatement(sql: string): PostgresStatement {
  const known = prepared.get(sql);
  if (known !== undefined) return known;
  let count = 0;
  const text = sql.replace(/'[^']*'|"[^"]*"|\?/g, (part) => {
    if (part !== '?') return part;
    count += 1;
    return `$${count}`;
  });
  // A prepared statement may get a generic plan, which is unsuitable for inverted indexes: selectivity depends on the
  // value.
  if (prepared.size >= maxPrepared || / (@>|LIKE) /.test(text)) return { name: undefined, text };
  const statement = { name: `agl_${prepared.size}`, text };
  prepared.set(sql, statement);
  return statement;
}
