import { systemClock } from '@agentlightning/core/internal';
import pg, { type ClientConfig } from 'pg';
import { type StoreChangeListener, unknownChange } from '../changes/change-feed.ts';
import { changesFromPayload } from './change-payload.ts';

/** Options of a listener. */
export interface PostgresListenerOptions {
  readonly config: ClientConfig;
  readonly channel: string;
  /** Sender id of this process, whose messages are ignored. */
  readonly self: string;
  readonly onChanges: StoreChangeListener;
}

const firstRetryMs = 50;
const maxRetryMs = 2000;
/** Interval and timeout of the connection check, in milliseconds. */
const pingIntervalMs = 15_000;
const pingTimeoutMs = 10_000;

/**
 * Receives the changes of other processes. It reconnects with backoff and then reports an unknown change, because
 * notifications may have been missed.
 */
export class PostgresListener {
  readonly #options: PostgresListenerOptions;
  readonly #stopping = new AbortController();
  #hasStarted = false;
  readonly #ended: Promise<void>;
  readonly #connected = new AbortController();

  private constructor(options: PostgresListenerOptions) {
    this.#options = options;
    this.#ended = this.#listenWithRetry();
  }

  /** Starts listening; resolves when connected, or after the timeout while it keeps retrying. */
  static async start(options: PostgresListenerOptions, waitMs: number): Promise<PostgresListener> {
    const listener = new PostgresListener(options);
    await systemClock.sleep(waitMs, listener.#connected.signal).catch(ignore);
    // Later connections report the notifications that were missed.
    listener.#hasStarted = true;
    return listener;
  }

  /** Stops listening, and resolves when the connection is closed. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
  }

  async #listenWithRetry(): Promise<void> {
    let retryMs = firstRetryMs;
    while (!this.#stopping.signal.aborted) {
      const wasConnected = await this.#listen().catch(() => false);
      retryMs = wasConnected ? firstRetryMs : Math.min(2 * retryMs, maxRetryMs);
      // System time, not the store's clock: the database is an external process.
      await systemClock.sleep(retryMs, this.#stopping.signal).catch(ignore);
    }
  }

  /** Listens until the connection ends; returns whether it was established. */
  async #listen(): Promise<boolean> {
    const client = new pg.Client({ ...this.#options.config, query_timeout: pingTimeoutMs });
    const ended = new Promise<void>((resolve) => client.once('end', resolve).on('error', () => resolve()));
    client.on('notification', ({ payload = '' }) => this.#receive(payload));
    const stop = (): void => void client.end().catch(ignore);
    this.#stopping.signal.addEventListener('abort', stop);
    let ping: NodeJS.Timeout | undefined;
    try {
      await client.connect();
      await client.query(`LISTEN ${client.escapeIdentifier(this.#options.channel)}`);
      this.#connected.abort();
      if (this.#hasStarted) this.#options.onChanges(unknownChange);
      // A ping that times out destroys the connection.
      ping = setInterval(() => void client.query('SELECT 1').catch(ignore), pingIntervalMs).unref();
      await ended;
      return true;
    } finally {
      clearInterval(ping);
      this.#stopping.signal.removeEventListener('abort', stop);
      await client.end().catch(ignore);
    }
  }

  #receive(payload: string): void {
    const { from, changes } = changesFromPayload(payload);
    if (from !== this.#options.self) this.#options.onChanges(changes);
  }
}

function ignore(): void {}
