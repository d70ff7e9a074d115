import { AgentLightningError } from '@agentlightning/core';
import { addressText, systemClock } from '@agentlightning/core/internal';
import { newId } from '@agentlightning/core/store';
import pg, { type Pool, type PoolClient } from 'pg';
import type { SqlConnection, SqlDriver } from '../sql-driver.ts';
import type { StoreChange, StoreChangeListener } from '../store-change.ts';
import { changePayloads } from './change-payload.ts';
import { ConnectionGate } from './connection-gate.ts';
import { PostgresAnnouncer, wakesSomebody } from './postgres-announcer.ts';
import { connectionConfig, PostgresConnection, setUpConnection } from './postgres-connection.ts';
import { postgresDialect } from './postgres-dialect.ts';
import { postgresErrorKind, storeErrorFrom, unknownOutcome } from './postgres-error.ts';
import { PostgresListener } from './postgres-listener.ts';

/** How the PostgreSQL driver reaches its database. */
export interface PostgresDriverOptions {
  /** `postgres://user:password@host:port/database` */
  readonly url: string;
  /** How many connections at most, besides the one that listens. */
  readonly poolSize: number;
  /** How long to look for a database that is away before giving up, in milliseconds. */
  readonly unreachableAfterMs: number;
}

type Work<TResult> = (connection: SqlConnection) => Promise<TResult>;

const maxConflicts = 30;
const longestConflictPauseMs = 100;
const firstReconnectPauseMs = 20;
const longestReconnectPauseMs = 500;

/** A PostgreSQL database: several connections, and other processes that write at the same time. */
export class PostgresDriver implements SqlDriver {
  readonly name = 'postgres';
  readonly dialect: SqlDriver['dialect'] = postgresDialect;
  readonly #options: PostgresDriverOptions;
  /** The address, as errors may show it. */
  readonly #place: string;
  readonly #pool: Pool;
  readonly #gate: ConnectionGate;
  readonly #self = newId('worker');
  readonly #listeners = new Set<StoreChangeListener>();
  readonly #announcer: PostgresAnnouncer;
  #channel = '';
  #listener: PostgresListener | null = null;
  #closing: Promise<void> | null = null;

  private constructor(options: PostgresDriverOptions) {
    this.#options = options;
    this.#place = addressText(options.url);
    this.#gate = new ConnectionGate(options.poolSize);
    this.#pool = new pg.Pool({ ...this.#connectionConfig(), max: options.poolSize });
    this.#pool.on('error', ignore).on('connect', setUpConnection);
    this.#announcer = new PostgresAnnouncer((changes) => this.#announce(changes));
  }

  /** Connects to the database, which may still be starting. */
  static async open(options: PostgresDriverOptions): Promise<PostgresDriver> {
    const driver = new PostgresDriver(options);
    try {
      const [row] = await driver.read((connection) => connection.all('SELECT current_schema()::text AS name'));
      // One channel for each store: a database may hold several, in schemas of their own.
      driver.#channel = `agentlightning:${String(row?.name)}`.slice(0, 60);
      driver.#listener = await driver.#listen();
      return driver;
    } catch (error) {
      await driver.close();
      throw error;
    }
  }

  read<TResult>(work: Work<TResult>): Promise<TResult> {
    return this.#again(async (client) => {
      const begun = client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      begun.catch(ignore);
      const result = await work(new PostgresConnection(client));
      await begun;
      letGo(client);
      return result;
    });
  }

  write<TResult>(
    work: Work<TResult>,
    changesOf: (result: TResult) => readonly StoreChange[] = () => [],
  ): Promise<TResult> {
    return this.#again(async (client) => {
      // Rows are locked where it matters, and each statement sees what was committed before it.
      const begun = client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
      begun.catch(ignore);
      const connection = new PostgresConnection(client);
      const result = await work(connection);
      await begun;
      if (!connection.hasWritten) {
        letGo(client);
        return result;
      }
      const changes = changesOf(result);
      await this.#commit(client, changes.filter(wakesSomebody));
      this.#announcer.tell(changes.filter((change) => !wakesSomebody(change)));
      return result;
    });
  }

  onOutsideChange(listener: StoreChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#listener?.stop();
    await this.#announcer.settle();
    await this.#pool.end();
  }

  #connectionConfig(): ReturnType<typeof connectionConfig> {
    return connectionConfig(this.#options.url, this.#options.unreachableAfterMs);
  }

  #listen(): Promise<PostgresListener> {
    const onChanges: StoreChangeListener = (changes) => {
      for (const listener of [...this.#listeners]) listener(changes);
    };
    return PostgresListener.start(
      { config: this.#connectionConfig(), channel: this.#channel, self: this.#self, onChanges },
      this.#options.unreachableAfterMs,
    );
  }

  /** Commits, and wakes others with it: they hear of exactly what was committed, whatever happens to this process. */
  async #commit(client: PoolClient, changes: readonly StoreChange[]): Promise<void> {
    const told = this.#notify(client, changes);
    told.catch(ignore);
    const { command } = await client.query('COMMIT').catch((cause: unknown) => {
      throw postgresErrorKind(cause) === 'away' ? unknownOutcome(cause, this.#place) : cause;
    });
    await told;
    if (command === 'COMMIT') return;
    throw new AgentLightningError({
      code: 'INTERNAL',
      message: `The database ${this.#place} did not commit: ${command}`,
    });
  }

  async #notify(client: PoolClient, changes: readonly StoreChange[]): Promise<void> {
    const payloads = changePayloads({ from: this.#self, changes });
    if (payloads.length === 0) return;
    await client.query('SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload', [this.#channel, payloads]);
  }

  async #announce(changes: readonly StoreChange[]): Promise<void> {
    await this.#gate.run(() => this.#withClient((client) => this.#notify(client, changes)));
  }

  /** Does a transaction, and does it again when others were in its way or the database was away before its end. */
  async #again<TResult>(transaction: (client: PoolClient) => Promise<TResult>): Promise<TResult> {
    const deadline = performance.now() + this.#options.unreachableAfterMs;
    for (let conflicts = 0, losses = 0; ; ) {
      this.#assertOpen();
      try {
        return await this.#gate.run(() => this.#withClient(transaction));
      } catch (error) {
        const kind = postgresErrorKind(error);
        const mayTryAgain =
          (kind === 'conflict' && conflicts < maxConflicts) || (kind === 'away' && performance.now() < deadline);
        if (!mayTryAgain) throw storeErrorFrom(error, this.#place);
        if (kind === 'conflict') conflicts += 1;
        else losses += 1;
        await systemClock.sleep(kind === 'conflict' ? conflictPauseMs(conflicts) : reconnectPauseMs(losses));
      }
    }
  }

  async #withClient<TResult>(use: (client: PoolClient) => Promise<TResult>): Promise<TResult> {
    const client = await this.#pool.connect();
    let isSound = true;
    try {
      return await use(client);
    } catch (error) {
      // A connection whose transaction cannot be undone is not used again.
      isSound = postgresErrorKind(error) !== 'away' && (await client.query('ROLLBACK').then(yes, no));
      throw error;
    } finally {
      client.release(!isSound);
    }
  }

  #assertOpen(): void {
    if (this.#closing === null) return;
    throw new AgentLightningError({
      code: 'PRECONDITION_FAILED',
      message: `The store ${this.#place} is closed`,
      remedy: 'Open it again with openStore, or close it later.',
    });
  }
}

/** Ends a transaction that wrote nothing: whether that arrives is of no interest. */
function letGo(client: PoolClient): void {
  client.query('COMMIT').catch(ignore);
}

/** Longer after every time. One of those who are in each other's way always gets through meanwhile. */
function conflictPauseMs(conflicts: number): number {
  return Math.min(2 ** conflicts, longestConflictPauseMs);
}

function reconnectPauseMs(losses: number): number {
  return Math.min(firstReconnectPauseMs * 2 ** losses, longestReconnectPauseMs);
}

const yes = (): boolean => true;
const no = (): boolean => false;
function ignore(): void {}
