import type { MessagePort } from 'node:worker_threads';
import type { SqlStore } from '../sql-store.ts';
import { carryError } from './carried-error.ts';
import { Outbox } from './outbox.ts';
import { PieceTraffic } from './piece-traffic.ts';
import type { Batch, CarriedMethod, StoreAnswer, StoreRequest } from './store-message.ts';

/** What is asked and answered. */
type Answered = StoreRequest & readonly ['call' | 'spans' | 'claim' | 'wait' | 'import', ...unknown[]];

type Method = (...parameters: readonly unknown[]) => Promise<unknown>;

/** Answers for a store to another thread, whose `ThreadStore` is at the other end of the port. */
export class StoreHost {
  readonly #store: SqlStore;
  readonly #outbox: Outbox<StoreAnswer>;
  readonly #traffic: PieceTraffic;
  /** What is under way, for closing to wait for. */
  readonly #underWay = new Set<Promise<void>>();
  readonly #waits = new Map<number, AbortController>();

  constructor(store: SqlStore, port: MessagePort) {
    this.#store = store;
    this.#outbox = new Outbox<StoreAnswer>({
      port,
      // Work that shared a commit is told of at once when it is written: all of it is told before this comes.
      schedule: (send) => process.nextTick(send),
      onUnsendable: ([, id], cause) => port.postMessage([['failure', id, carryError(cause)] satisfies StoreAnswer]),
    });
    this.#traffic = new PieceTraffic((message, transfer) => this.#outbox.say(message, transfer));
    port.on('message', (batch: Batch<StoreRequest>) => {
      for (const request of batch) this.#take(request);
    });
  }

  #take(request: StoreRequest): void {
    const result = this.#resultOf(request);
    if (result !== null) this.#answer(request[1], result);
  }

  /** What answers a request; null for one that has no answer of its own, or not yet. */
  #resultOf(request: StoreRequest): Promise<unknown> | null {
    switch (request[0]) {
      case 'call':
        return this.#call(request[2], request[3]);
      case 'spans':
        return this.#store.appendSpanRows(request[2], null);
      case 'claim':
        return this.#untilAborted(request[1], (signal) => this.#store.claimRollouts({ ...request[2], signal }));
      case 'wait':
        return this.#untilAborted(request[1], (signal) =>
          this.#store.waitForRollouts(request[2], { timeoutMs: request[3] ?? Number.POSITIVE_INFINITY, signal }),
        );
      case 'import':
        return this.#store.importRun(this.#traffic.receive<Uint8Array>(request[1]).read());
      default:
        this.#hear(request);
        return null;
    }
  }

  #hear(request: Exclude<StoreRequest, Answered>): void {
    const [kind, id] = request;
    if (kind === 'abort') this.#waits.get(id)?.abort();
    else if (kind === 'close') void this.#close(id);
    else if (kind === 'written') this.#store.noteWritten(request[2], request[3]);
    else if (kind === 'watch')
      void this.#traffic.send(id, (signal) => this.#store.watchChanges({ ...request[2], signal }));
    else if (kind === 'export') void this.#traffic.send(id, () => this.#store.exportRun(request[2]));
    else this.#traffic.take(request);
  }

  #call(method: CarriedMethod, parameters: readonly unknown[]): Promise<unknown> {
    // Trusted: the other side is ours, and its types are those of the store.
    const methods = this.#store as unknown as Readonly<Record<CarriedMethod, Method>>;
    return methods[method](...parameters);
  }

  async #untilAborted(id: number, wait: (signal: AbortSignal) => Promise<unknown>): Promise<unknown> {
    const controller = new AbortController();
    this.#waits.set(id, controller);
    try {
      return await wait(controller.signal);
    } finally {
      this.#waits.delete(id);
    }
  }

  #answer(id: number, result: Promise<unknown>): void {
    const answered = result.then(
      (value) => this.#outbox.say(['answer', id, value]),
      (error: unknown) => this.#outbox.say(['failure', id, carryError(error)]),
    );
    this.#underWay.add(answered);
    void answered.then(() => this.#underWay.delete(answered));
  }

  async #close(id: number): Promise<void> {
    const closed = this.#store.close();
    await Promise.allSettled([closed, ...this.#underWay]);
    // The last word: the other side closes the port when it has it.
    this.#answer(id, closed);
  }
}
