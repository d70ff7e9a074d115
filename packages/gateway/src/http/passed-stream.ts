import { GatewayError } from '../gateway-error.ts';
import type { UpstreamStream } from '../upstream/upstream-stream.ts';
import type { CutSource } from './pulled-stream.ts';

/** What a passed stream works with. */
export interface PassedStreamOptions {
  /** The upstream's address, for messages. */
  readonly address: string;
  /** An error as the API's streams tell it. */
  readonly errorEvent: (error: GatewayError) => string;
  /** Called once, when the stream has ended in whatever way. */
  readonly onOver: () => void;
}

/** Hands a stream on as it is. One that breaks off ends with an error in the API's form. */
export class PassedStream implements CutSource {
  readonly #body: UpstreamStream;
  readonly #options: PassedStreamOptions;
  #isOver = false;
  /** What is still to be said to the reader of a stream that was cut. */
  #parting: string | null = null;

  constructor(body: UpstreamStream, options: PassedStreamOptions) {
    this.#body = body;
    this.#options = options;
  }

  async next(): Promise<string | Uint8Array | null> {
    if (this.#isOver) return this.#takeParting();
    try {
      const bytes = await this.#body.read();
      if (this.#isOver) return this.#takeParting();
      if (bytes !== null) return bytes;
      this.#end();
      return null;
    } catch (error) {
      this.cut(brokenOff(this.#options.address, error));
      return this.#takeParting();
    }
  }

  cancelled(): void {
    this.#end();
  }

  cut(error: GatewayError): void {
    if (this.#isOver) return;
    this.#parting = this.#options.errorEvent(error);
    this.#end();
  }

  #takeParting(): string | null {
    const parting = this.#parting;
    this.#parting = null;
    return parting;
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.onOver();
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
