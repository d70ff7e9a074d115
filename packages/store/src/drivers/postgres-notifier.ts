import { ChangeRecorder, type StoreChange } from '../changes/change-feed.ts';

/**
 * Sends changes that no process blocks on, such as new spans, to other processes: after the commit, batched while
 * the previous message is in flight.
 */
export class PostgresNotifier {
  readonly #send: (changes: readonly StoreChange[]) => Promise<unknown>;
  #pending = new ChangeRecorder();
  #sending: Promise<void> | null = null;

  constructor(send: (changes: readonly StoreChange[]) => Promise<unknown>) {
    this.#send = send;
  }

  /** Queues changes for sending. */
  enqueue(changes: readonly StoreChange[]): void {
    for (const change of changes) this.#pending.record(change);
    if (changes.length > 0) this.#sending ??= this.#sendAll();
  }

  /** Resolves when all queued changes were sent or dropped. */
  async flush(): Promise<void> {
    await this.#sending;
  }

  async #sendAll(): Promise<void> {
    while (this.#pending.changes.length > 0) {
      const { changes } = this.#pending;
      this.#pending = new ChangeRecorder();
      // Dropped on a lost connection: other processes report an unknown change after they reconnect.
      await this.#send(changes).catch(() => undefined);
    }
    this.#sending = null;
  }
}

/** Whether a pending wait may depend on the change: a rollout was queued, finished or deleted. */
export function wakesWaiters(change: StoreChange): boolean {
  if (change.kind !== 'rollout') return change.kind === 'rollout-deleted';
  return change.status !== 'preparing' && change.status !== 'running';
}
