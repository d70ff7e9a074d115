/** Sends one chunk of a body; resolves when the reader requests the next one, or the call was aborted. */
export type SendChunk = (chunk: string | Uint8Array) => Promise<void>;

const encoder = new TextEncoder();

/** A streamed response body with backpressure: at most one chunk is buffered between the upstream and the reader. */
export class ResponseStream {
  readonly readable: ReadableStream<Uint8Array>;
  readonly #signal: AbortSignal;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  #resume: () => void = () => undefined;

  /**
   * @param signal - aborts with the call; nothing waits for the reader from then on
   * @param onCancel - called when the reader cancels the body
   */
  constructor(signal: AbortSignal, onCancel: () => void) {
    this.#signal = signal;
    signal.addEventListener('abort', () => this.#resume(), { once: true });
    this.readable = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#resume(),
        cancel: () => {
          this.#controller = null;
          onCancel();
          this.#resume();
        },
      },
      { highWaterMark: 0 },
    );
  }

  readonly send: SendChunk = async (chunk) => {
    if (this.#controller === null || chunk.length === 0) return;
    this.#enqueue(chunk);
    if (this.#signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.#resume = resolve;
    });
  };

  /** Sends the last chunk and ends the body, without waiting for the reader. */
  end(chunk: string): void {
    if (this.#controller === null) return;
    if (chunk !== '') this.#enqueue(chunk);
    this.#controller.close();
    this.#controller = null;
  }

  /** Ends the body with an error: the connection is closed before the end of the body. */
  fail(error: unknown): void {
    this.#controller?.error(error);
    this.#controller = null;
  }

  #enqueue(chunk: string | Uint8Array): void {
    this.#controller?.enqueue(typeof chunk === 'string' ? encoder.encode(chunk) : chunk);
  }
}
