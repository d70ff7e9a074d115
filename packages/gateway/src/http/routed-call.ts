import type { Caller } from './access.ts';
import type { ArrivedCall } from './arrived-call.ts';
import type { HeaderReader } from './header-reader.ts';
import { requestText } from './request-text.ts';
import type { GatewayContext } from './route-options.ts';

/** A model call that came by the routes of an application. */
export class RoutedCall implements ArrivedCall {
  readonly #context: GatewayContext;

  constructor(context: GatewayContext) {
    this.#context = context;
  }

  get headers(): HeaderReader {
    return this.#context.req.raw.headers;
  }

  get requestId(): string {
    return this.#context.var.requestId;
  }

  get caller(): Caller {
    return this.#context.var.caller;
  }

  readonly param = (name: string): string | undefined => this.#context.req.param(name);

  text(): Promise<string> {
    return requestText(this.#context);
  }

  get hasGone(): boolean {
    return this.#context.req.raw.signal.aborted;
  }

  onGone(listener: () => void): void {
    const { signal } = this.#context.req.raw;
    if (signal.aborted) listener();
    else signal.addEventListener('abort', listener, { once: true });
  }
}
