import type { JsonObject } from '@agentlightning/core';
import { fieldsOf, markLayer } from '@agentlightning/core/adapter';
import { isJsonObject, parseJsonObject } from '@agentlightning/core/internal';

/** So many traces, and so many traces and spans that wait to be uploaded; the framework's own queue holds a thousand. */
const maxItems = 4096;

/**
 * Keeps what agents say in rollouts from being uploaded to OpenAI by the framework's exporter. Other exporters, and what
 * is said outside of rollouts, are left alone.
 */
export class RolloutUploads {
  readonly #traceIds: Set<string> = new Set();
  readonly #ring: string[] = [];
  #remembered = 0;
  /** Weakly: what the exporter has sent is of no interest. */
  #waiting: WeakRef<object>[] = [];
  #added = 0;

  /** Notes a trace or a span of a rollout. */
  add(item: { readonly traceId: string }): void {
    if (!this.#traceIds.has(item.traceId)) this.#remember(item.traceId);
    this.#waiting[this.#added % maxItems] = new WeakRef(item);
    this.#added += 1;
  }

  /** In a ring: to look for the oldest in a set takes longer the more was deleted from it. */
  #remember(traceId: string): void {
    const place = this.#remembered % maxItems;
    this.#remembered += 1;
    this.#traceIds.delete(this.#ring[place] ?? '');
    this.#traceIds.add(traceId);
    this.#ring[place] = traceId;
  }

  /** A fetch that leaves traces of rollouts out of what the exporter sends. */
  filter(inner: typeof fetch): typeof fetch {
    const filtered: typeof fetch = async (input, init) => {
      const upload = isUpload(init) ? parseJsonObject(String(init?.body)) : null;
      if (upload === null || !Array.isArray(upload.data)) return inner(input, init);
      const data = upload.data.filter((item) => !isJsonObject(item) || !this.#isOurs(item));
      if (data.length === 0) return new Response('{}', { headers: { 'content-type': 'application/json' } });
      return inner(input, { ...init, body: JSON.stringify({ ...upload, data }) });
    };
    return markLayer(filtered, { inner });
  }

  /** Takes what is still waiting to be uploaded out of the queue, as nobody will filter it any more. */
  close(): void {
    for (const ref of this.#waiting) {
      const item = ref.deref();
      if (item !== undefined) hide(item);
    }
    this.#waiting = [];
  }

  #isOurs({ object, id, trace_id: traceId }: JsonObject): boolean {
    const ownId = object === 'trace' ? id : traceId;
    return typeof ownId === 'string' && this.#traceIds.has(ownId);
  }
}

/**
 * The exporter leaves out what has no JSON. An interrupted run keeps its trace and its agent's span, and must still be able
 * to write them down: of a trace it asks with options, and a span of an agent has nothing that was said.
 */
function hide(item: object): void {
  const { spanData, toJSON } = fieldsOf(item);
  if (fieldsOf(spanData).type === 'agent' || typeof toJSON !== 'function') return;
  const value = (...options: unknown[]): unknown => (options.length === 0 ? null : toJSON.apply(item, options));
  Object.defineProperty(item, 'toJSON', { value, configurable: true });
}

/** The exporter's requests say what they are. */
function isUpload(init: RequestInit | undefined): boolean {
  const beta = fieldsOf(init?.headers)['OpenAI-Beta'];
  return typeof beta === 'string' && beta.startsWith('traces') && typeof init?.body === 'string';
}
