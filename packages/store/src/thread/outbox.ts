import type { Transferable } from 'node:worker_threads';
import type { Batch } from './store-message.ts';

/** What sends batches: a `MessagePort`. */
export interface BatchPort {
  postMessage(batch: unknown, transfer?: readonly Transferable[]): void;
}

/** How an outbox sends. */
export interface OutboxOptions<TMessage> {
  readonly port: BatchPort;
  /** Calls back when what was said together is complete. */
  readonly schedule: (send: () => void) => void;
  /** Hears of a message that cannot be copied for the other side. */
  readonly onUnsendable: (message: TMessage, cause: unknown) => void;
}

/** How long what can wait does wait, in milliseconds. */
const mentionedAfterMs = 10;

/** Gathers what is said in one turn of the event loop: to wake another thread costs more than most messages do. */
export class Outbox<TMessage> {
  readonly #options: OutboxOptions<TMessage>;
  #messages: TMessage[] = [];
  #transfer: Transferable[] = [];
  #isScheduled = false;
  #timer: NodeJS.Timeout | null = null;
  readonly #send = (): void => this.flush();

  constructor(options: OutboxOptions<TMessage>) {
    this.#options = options;
  }

  /** Says something soon, and gives away what it names. */
  say(message: TMessage, transfer: readonly Transferable[] = []): void {
    this.#messages.push(message);
    for (const item of transfer) this.#transfer.push(item);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#options.schedule(this.#send);
  }

  /** Says something that can wait a little: with what is said next, or after some milliseconds. */
  mention(message: TMessage): void {
    this.#messages.push(message);
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.flush();
    }, mentionedAfterMs).unref();
  }

  /** Says now what there is to say. */
  flush(): void {
    this.#isScheduled = false;
    const messages: Batch<TMessage> = this.#messages;
    if (messages.length === 0) return;
    const transfer = this.#transfer;
    this.#messages = [];
    this.#transfer = [];
    try {
      this.#options.port.postMessage(messages, transfer);
    } catch {
      // One that cannot be copied must not take the others with it.
      for (const message of messages) this.#sendAlone(message);
    }
  }

  #sendAlone(message: TMessage): void {
    try {
      this.#options.port.postMessage([message]);
    } catch (cause) {
      this.#options.onUnsendable(message, cause);
    }
  }
}
