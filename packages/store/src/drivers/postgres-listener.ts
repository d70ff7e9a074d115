import { systemClock } from '@agentlightning/core/internal';
import pg, { type ClientConfig } from 'pg';
import { type StoreChangeListener, unknownChange } from '../store-change.ts';
import { changesFromPayload } from './change-payload.ts';

/** What a listener needs to know. */
export interface PostgresListenerOptions {
  readonly config: ClientConfig;
  readonly channel: string;
  /** Who we are: our own messages are left out. */
  readonly self: string;
  readonly onChanges: StoreChangeListener;
}

const firstRetryMs = 50;
const longestRetryMs = 2000;
/** How often to ask whether the database is still there, and how long it may take to answer, in milliseconds. */
const pingIntervalMs = 15_000;
const pingTimeoutMs = 10_000;

/**
 * Hears what other processes tell about their changes. A connection that is lost is made again, as often as it takes,
 * and whatever was told meanwhile counts as an unknown change: whoever waits reads again.
 */
export class PostgresListener {
  readonly #options: PostgresListenerOptions;
  readonly #stopping = new AbortController();
  #isHeard = false;
  readonly #ended: Promise<void>;
  readonly #begun = new AbortController();

  private constructor(options: PostgresListenerOptions) {
    this.#options = options;
    this.#ended = this.#listenAlways();
  }

  /** Starts listening, and resolves when it does, or when that takes longer than it may: it goes on trying then. */
  static async start(options: PostgresListenerOptions, waitMs: number): Promise<PostgresListener> {
    const listener = new PostgresListener(options);
    await systemClock.sleep(waitMs, listener.#begun.signal).catch(ignore);
    // From now on whoever begins to listen hears of everything after it.
    listener.#isHeard = true;
    return listener;
  }

  /** Stops listening, and resolves when the connection is closed. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
  }

  async #listenAlways(): Promise<void> {
    let retryMs = firstRetryMs;
    while (!this.#stopping.signal.aborted) {
      const wasConnected = await this.#listen().catch(() => false);
      retryMs = wasConnected ? firstRetryMs : Math.min(2 * retryMs, longestRetryMs);
      // Real time on purpose: the database knows nothing of our clock.
      await systemClock.sleep(retryMs, this.#stopping.signal).catch(ignore);
    }
  }

  /** Listens until the connection ends, and says whether there was one. */
  async #listen(): Promise<boolean> {
    const client = new pg.Client({ ...this.#options.config, query_timeout: pingTimeoutMs });
    const ended = new Promise<void>((resolve) => client.once('end', resolve).on('error', () => resolve()));
    client.on('notification', ({ payload = '' }) => this.#hear(payload));
    const stop = (): void => void client.end().catch(ignore);
    this.#stopping.signal.addEventListener('abort', stop);
    let ping: NodeJS.Timeout | undefined;
    try {
      await client.connect();
      await client.query(`LISTEN ${client.escapeIdentifier(this.#options.channel)}`);
      this.#begun.abort();
      if (this.#isHeard) this.#options.onChanges(unknownChange);
      // A ping that is not answered in time destroys the connection.
      ping = setInterval(() => void client.query('SELECT 1').catch(ignore), pingIntervalMs).unref();
      await ended;
      return true;
    } finally {
      clearInterval(ping);
      this.#stopping.signal.removeEventListener('abort', stop);
      await client.end().catch(ignore);
    }
  }

  #hear(payload: string): void {
    const { from, changes } = changesFromPayload(payload);
    if (from !== this.#options.self) this.#options.onChanges(changes);
  }
}

function ignore(): void {}
