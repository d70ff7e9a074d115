/** Limits the distance between the oldest unacknowledged operation and the next. */
export class SendWindow {
  readonly #width: number;
  readonly #unacknowledged = new Set<number>();
  #waiting: { readonly seq: number; readonly go: () => void }[] = [];

  constructor(width: number) {
    this.#width = width;
  }

  /** Registers an operation and resolves when it may be sent. Call in order of sequence. */
  async enter(seq: number): Promise<void> {
    this.#unacknowledged.add(seq);
    if (this.#isOpen(seq)) return;
    await new Promise<void>((go) => this.#waiting.push({ seq, go }));
  }

  /** The operation is acknowledged or refused. */
  leave(seq: number): void {
    this.#unacknowledged.delete(seq);
    const ready = this.#waiting.filter((waiter) => this.#isOpen(waiter.seq));
    this.#waiting = this.#waiting.filter((waiter) => !ready.includes(waiter));
    for (const waiter of ready) waiter.go();
  }

  #isOpen(seq: number): boolean {
    // A Set keeps insertion order, so the first is the oldest.
    const [oldest = seq] = this.#unacknowledged;
    return seq < oldest + this.#width;
  }
}
