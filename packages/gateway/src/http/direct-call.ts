import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from './access.ts';
import type { ArrivedCall } from './arrived-call.ts';
import type { HeaderReader } from './header-reader.ts';
import { brokenOffRequest } from './request-text.ts';
import { wholeText } from './whole-text.ts';

/** The parts of an address that name an attempt. */
export type AddressParts = Readonly<Record<string, string | undefined>>;

/** What is known of a direct call before it is answered. */
export interface DirectCallOptions {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly parts: AddressParts;
  readonly headers: HeaderReader;
  readonly requestId: string;
  readonly caller: Caller;
}

/** A model call on a connection of the gateway's own server. */
export class DirectCall implements ArrivedCall {
  readonly #options: DirectCallOptions;

  constructor(options: DirectCallOptions) {
    this.#options = options;
  }

  get headers(): HeaderReader {
    return this.#options.headers;
  }

  get requestId(): string {
    return this.#options.requestId;
  }

  get caller(): Caller {
    return this.#options.caller;
  }

  readonly param = (name: string): string | undefined => this.#options.parts[name];

  text(): Promise<string> {
    const { incoming } = this.#options;
    return new Promise((resolve, reject) => {
      const parts: Buffer[] = [];
      incoming.on('data', (part: Buffer) => parts.push(part));
      incoming.on('end', () => resolve(wholeText(parts)));
      incoming.on('error', (error) => reject(brokenOffRequest(error)));
      incoming.on('close', () => {
        if (!incoming.readableEnded) reject(brokenOffRequest(null));
      });
    });
  }

  get hasGone(): boolean {
    const { outgoing } = this.#options;
    return outgoing.destroyed && !outgoing.writableFinished;
  }

  onGone(listener: () => void): void {
    const tell = (): void => {
      if (this.hasGone) listener();
    };
    tell();
    this.#options.outgoing.once('close', tell);
  }
}

/** The headers of a server's own request. */
export function headersOf({ headers }: IncomingMessage): HeaderReader {
  return {
    get: (name) => {
      const value = headers[name];
      return value === undefined ? null : Array.isArray(value) ? value.join(', ') : value;
    },
  };
}
