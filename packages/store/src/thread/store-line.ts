import type { MessagePort } from 'node:worker_threads';
import { AgentLightningError, ValidationError } from '@agentlightning/core';
import { errorFromCarried } from './carried-error.ts';
import { Outbox } from './outbox.ts';
import { PieceTraffic } from './piece-traffic.ts';
import type { Batch, StoreAnswer, StoreRequest } from './store-message.ts';

/** What a line to a store needs. */
export interface StoreLineOptions {
  /** At its other end a `StoreHost` answers. */
  readonly port: MessagePort;
  /** The store, as errors name it. */
  readonly location: string;
  /** Resolves when the other side is gone: with what it failed by, or null. */
  readonly ended: Promise<Error | null>;
  /** Keeps the process alive until then. */
  readonly holdUntilEnded: () => void;
}

/** Somebody who waits for an answer. */
interface Pending {
  readonly kind: StoreRequest[0];
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** A line to a store in another thread: brings answers to those who asked. It keeps the process alive while somebody waits. */
export class StoreLine {
  readonly #options: StoreLineOptions;
  readonly #outbox: Outbox<StoreRequest>;
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;
  #holds = 0;
  /** How many calls, and how many batches of spans, are under way. */
  readonly #underWay = { call: 0, spans: 0 };
  /** Why nothing can be asked any more. */
  #refusal: AgentLightningError | null = null;

  /** What comes and goes piece by piece. */
  readonly traffic: PieceTraffic;

  constructor(options: StoreLineOptions) {
    const { port, ended } = options;
    this.#options = options;
    this.#outbox = new Outbox<StoreRequest>({
      port,
      // All that one turn of the event loop brings, such as the requests of many clients, goes together.
      schedule: (send) => setImmediate(send),
      onUnsendable: (request, cause) => this.#sendPlain(request, cause),
    });
    this.traffic = new PieceTraffic((message, transfer) => this.#outbox.say(message, transfer));
    port.on('message', (answers: Batch<StoreAnswer>) => {
      for (const answer of answers) this.#take(answer);
    });
    port.unref();
    void ended.then((error) => this.#lose(error));
  }

  /** Whether there is somebody to ask, and no call under way, of which a read that is asked for now would have to know. */
  get isIdle(): boolean {
    return this.#refusal === null && this.#underWay.call === 0;
  }

  /** Whether it is idle, and writes no spans either. */
  get isQuiet(): boolean {
    return this.isIdle && this.#underWay.spans === 0;
  }

  /** A number for a request. */
  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  /** Asks, and resolves with the answer, whose type is the caller's to know. */
  ask<TAnswer>(id: number, request: StoreRequest): Promise<TAnswer> {
    return new Promise<TAnswer>((resolve, reject) => {
      if (this.#refusal !== null) throw this.#refusal;
      this.hold();
      const [kind] = request;
      this.#count(kind, 1);
      this.#pending.set(id, { kind, resolve: (value) => resolve(value as TAnswer), reject });
      this.#outbox.say(request);
    });
  }

  /** Sends now what was said, and would go at the end of this turn of the event loop. */
  flush(): void {
    this.#outbox.flush();
  }

  /** Says something that has no answer of its own. */
  tell(request: StoreRequest): void {
    if (this.#refusal !== null) throw this.#refusal;
    this.#outbox.say(request);
  }

  /** Says what can wait a little, and need not be known any more when there is nobody to ask. */
  mention(request: StoreRequest): void {
    if (this.#refusal === null) this.#outbox.mention(request);
  }

  /** Tells that somebody gives up a wait, who gets its answer all the same. Does nothing when there is none to come. */
  giveUp(id: number): void {
    if (this.#pending.has(id)) this.#outbox.say(['abort', id]);
  }

  /** Keeps the process alive until it is released. */
  hold(): void {
    this.#holds += 1;
    if (this.#holds === 1) this.#options.port.ref();
  }

  /** Undoes one {@link hold}. */
  release(): void {
    this.#holds -= 1;
    if (this.#holds === 0) this.#options.port.unref();
  }

  /** Asks the other side to close, refuses what comes after, and resolves when it is gone. */
  async close(): Promise<void> {
    const { port, location, ended, holdUntilEnded } = this.#options;
    const id = this.nextId();
    const answered = this.#refusal === null ? this.ask<void>(id, ['close', id]) : null;
    this.#refusal ??= new AgentLightningError({
      code: 'PRECONDITION_FAILED',
      message: `The store ${location} is closed`,
      remedy: 'Open it again, or close it later.',
    });
    try {
      await answered;
    } finally {
      port.close();
      holdUntilEnded();
      await ended;
    }
  }

  #take(answer: StoreAnswer): void {
    const [kind, id] = answer;
    if (kind === 'answer') this.#settle(id)?.resolve(answer[2]);
    else if (kind === 'failure') this.#settle(id)?.reject(errorFromCarried(answer[2]));
    else this.traffic.take(answer);
  }

  #settle(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    if (pending === undefined) return undefined;
    this.#pending.delete(id);
    this.#count(pending.kind, -1);
    this.release();
    return pending;
  }

  #count(kind: StoreRequest[0], more: 1 | -1): void {
    if (kind === 'call' || kind === 'spans') this.#underWay[kind] += more;
  }

  /** Sends what threads cannot copy as its JSON, which is all that a store keeps of it. */
  #sendPlain(request: StoreRequest, cause: unknown): void {
    const [kind, id] = request;
    try {
      if (kind !== 'call') throw cause;
      const parameters = request[3].map((parameter) =>
        parameter === undefined ? undefined : JSON.parse(JSON.stringify(parameter)),
      );
      this.#options.port.postMessage([['call', id, request[2], parameters] satisfies StoreRequest]);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#settle(id)?.reject(new ValidationError('What the store was given', [{ path: '', message }], error));
    }
  }

  #lose(cause: Error | null): void {
    const lost = new AgentLightningError({
      code: 'UNREACHABLE',
      message: `The thread of the store ${this.#options.location} has ended${cause === null ? '' : `: ${cause.message}`}. What was under way may have been written or not`,
      remedy: 'Open the store again; everything that was acknowledged is in its file.',
      details: { outcome: 'unknown' },
      cause,
    });
    this.#refusal ??= lost;
    for (const id of [...this.#pending.keys()]) this.#settle(id)?.reject(lost);
    this.traffic.fail(this.#refusal);
  }
}
