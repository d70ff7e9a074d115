import { AgentLightningError, type ErrorCode, type Store } from '@agentlightning/core';
import { z } from 'zod';
import { openExistingStore } from '../open-existing-store.ts';
import { openLocalDashboard } from '../serve/run-dashboard.ts';

interface Opened {
  readonly store: Store;
  readonly dashboard: Awaited<ReturnType<typeof openLocalDashboard>>;
}

const failure = z.object({ error: z.object({ code: z.string(), message: z.string(), remedy: z.string() }) });

/** Reads a store with the queries of the dashboard, within this process. */
export class StoreReader implements AsyncDisposable {
  readonly #url: string;
  #opened: Promise<Opened> | null = null;

  /** @param url - of the store, which is opened on the first call: an unavailable store is an error of that call */
  constructor(url: string) {
    this.#url = url;
  }

  async store(): Promise<Store> {
    return (await this.#open()).store;
  }

  /**
   * A response of the dashboard's API.
   *
   * @param path - of the route; parameters without a value are omitted
   * @throws AgentLightningError with the code, message and remedy of the response
   */
  async read<TSchema extends z.ZodType>(
    schema: TSchema,
    path: string,
    parameters: Readonly<Record<string, string | number | undefined>> = {},
  ): Promise<z.output<TSchema>> {
    const { dashboard } = await this.#open();
    const url = new URL(path, 'http://localhost');
    for (const [name, value] of Object.entries(parameters)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const response = await dashboard.fetch(new Request(url));
    const body: unknown = await response.json();
    if (response.ok) return schema.parse(body);
    const { code, message, remedy } = failure.parse(body).error;
    throw new AgentLightningError({ code: code as ErrorCode, message: withoutCode(message, code), remedy });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const opened = await this.#opened?.catch(() => null);
    opened?.dashboard.close();
    await opened?.store.close();
  }

  async #open(): Promise<Opened> {
    this.#opened ??= this.#openNow().catch((error: unknown) => {
      this.#opened = null;
      throw error;
    });
    return await this.#opened;
  }

  async #openNow(): Promise<Opened> {
    const store = await openExistingStore(this.#url);
    return { store, dashboard: await openLocalDashboard(store, this.#url) };
  }
}

function withoutCode(message: string, code: string): string {
  return message.startsWith(`[${code}] `) ? message.slice(code.length + 3) : message;
}
