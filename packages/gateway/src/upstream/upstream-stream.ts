/** What fills a stream, and can be held back. */
interface Tap {
  pause(): void;
  resume(): void;
  abort(reason: Error): void;
}

/** How many bytes may wait for their reader before no more are taken from the connection. */
const maxWaitingBytes = 64 * 1024;

interface Reader {
  readonly resolve: (bytes: Uint8Array | null) => void;
  readonly reject: (error: Error) => void;
}

/** The bytes of an answer as they come; it takes no more from the connection than its one reader reads. */
export class UpstreamStream {
  readonly #tap: Tap;
  readonly #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #isPaused = false;
  #isOver = false;
  #failure: Error | null = null;
  #reader: Reader | null = null;
  #onOver: () => void = () => undefined;

  constructor(tap: Tap) {
    this.#tap = tap;
  }

  /** To be told once when no more comes from the connection, for whatever reason. */
  set onOver(listener: () => void) {
    if (this.#isOver) listener();
    else this.#onOver = listener;
  }

  /** The next bytes; null at the end. Rejects when the connection broke, or the stream was cancelled. */
  read(): Promise<Uint8Array | null> {
    const next = this.#waiting.shift();
    if (next !== undefined) {
      this.#waitingBytes -= next.length;
      if (this.#isPaused && this.#waitingBytes < maxWaitingBytes / 2) this.#flow();
      return Promise.resolve(next);
    }
    if (this.#failure !== null) return Promise.reject(this.#failure);
    if (this.#isOver) return Promise.resolve(null);
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject };
    });
  }

  /** Nobody reads on: the request is ended. */
  cancel(reason: Error = new Error('the answer is not read on')): void {
    if (this.#isOver) return;
    this.fail(reason);
    this.#tap.abort(reason);
  }

  /** Takes bytes from the connection. */
  push(bytes: Uint8Array): void {
    if (this.#isOver) return;
    const reader = this.#takeReader();
    if (reader !== null) {
      reader.resolve(bytes);
      return;
    }
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes <= maxWaitingBytes || this.#isPaused) return;
    this.#isPaused = true;
    this.#tap.pause();
  }

  /** The answer is whole. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#takeReader()?.resolve(null);
    this.#onOver();
  }

  /** The connection broke; what came before can still be read. */
  fail(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#failure = error;
    this.#takeReader()?.reject(error);
    this.#onOver();
  }

  #flow(): void {
    this.#isPaused = false;
    this.#tap.resume();
  }

  #takeReader(): Reader | null {
    const reader = this.#reader;
    this.#reader = null;
    return reader;
  }
}
