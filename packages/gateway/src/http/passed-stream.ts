import { GatewayError } from '../gateway-error.ts';
import type { StreamSource } from './pulled-stream.ts';

/** Hands a stream on as it is. One that breaks off ends with an error in OpenAI's form. */
export class PassedStream implements StreamSource {
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #address: string;
  readonly #onOver: () => void;
  #isOver = false;

  /** @param onOver - called once, when the stream has ended in whatever way */
  constructor(body: AsyncIterable<Uint8Array>, address: string, onOver: () => void) {
    this.#chunks = body[Symbol.asyncIterator]();
    this.#address = address;
    this.#onOver = onOver;
  }

  async next(): Promise<string | Uint8Array | null> {
    if (this.#isOver) return null;
    try {
      const { value, done } = await this.#chunks.next();
      if (!done) return value;
      this.#end();
      return null;
    } catch (error) {
      this.#end();
      return `data: ${brokenOff(this.#address, error).toBody()}\n\n`;
    }
  }

  cancelled(): void {
    this.#end();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onOver();
  }
}

/** The error that ends a stream whose upstream broke off. */
export function brokenOff(address: string, cause: unknown): GatewayError {
  return new GatewayError({
    code: 'UPSTREAM_FAILED',
    httpStatus: 502,
    type: 'upstream_error',
    message: `the model endpoint ${address} broke off its answer: ${cause instanceof Error ? cause.message : String(cause)}`,
    remedy: 'What came until then is not whole; make the call again.',
    cause,
  });
}
