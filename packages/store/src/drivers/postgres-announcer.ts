import { ChangeRecorder, type StoreChange } from '../store-change.ts';

/**
 * Tells other processes what nobody sleeps for, such as spans that came in: after the commit, and together with
 * whatever else happened while the message before was on its way.
 */
export class PostgresAnnouncer {
  readonly #send: (changes: readonly StoreChange[]) => Promise<unknown>;
  #pending = new ChangeRecorder();
  #sending: Promise<void> | null = null;

  constructor(send: (changes: readonly StoreChange[]) => Promise<unknown>) {
    this.#send = send;
  }

  /** Sends the changes soon. */
  tell(changes: readonly StoreChange[]): void {
    for (const change of changes) this.#pending.record(change);
    if (changes.length > 0) this.#sending ??= this.#sendAll();
  }

  /** Resolves when everything was sent, or could not be. */
  async settle(): Promise<void> {
    await this.#sending;
  }

  async #sendAll(): Promise<void> {
    while (this.#pending.changes.length > 0) {
      const { changes } = this.#pending;
      this.#pending = new ChangeRecorder();
      // The database went away: others hear that something changed as soon as they find it again.
      await this.#send(changes).catch(() => undefined);
    }
    this.#sending = null;
  }
}

/** Whether somebody may be asleep until this happens: a rollout is there to be claimed, or is over, or gone. */
export function wakesSomebody(change: StoreChange): boolean {
  if (change.kind !== 'rollout') return change.kind === 'rollout-deleted';
  return change.status !== 'preparing' && change.status !== 'running';
}
