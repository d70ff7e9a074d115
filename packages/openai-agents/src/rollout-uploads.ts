import type { JsonObject } from '@agentlightning/core';
import { fieldsOf, isJsonObject, markLayer, parseJsonObject } from '@agentlightning/core/internal';

/** Limit for stored trace ids and for pending uploads; the framework's own queue holds a thousand. */
const maxItems = 4096;

/**
 * Prevents the framework's exporter from uploading rollouts to OpenAI. Replacement exporters, and traces outside rollouts, are
 * not affected.
 */
export class RolloutUploads {
  readonly #traceIds: Set<string> = new Set();
  readonly #ring: string[] = [];
  #remembered = 0;
  /** Weak references: items can be garbage-collected after the upload. */
  #waiting: WeakRef<object>[] = [];
  #added = 0;

  /** Adds a trace or a span of a rollout. */
  add(item: { readonly traceId: string }): void {
    if (!this.#traceIds.has(item.traceId)) this.#store(item.traceId);
    this.#waiting[this.#added % maxItems] = new WeakRef(item);
    this.#added += 1;
  }

  /** Uses a ring buffer: finding the oldest entry of a set slows down with every deletion. */
  #store(traceId: string): void {
    const place = this.#remembered % maxItems;
    this.#remembered += 1;
    this.#traceIds.delete(this.#ring[place] ?? '');
    this.#traceIds.add(traceId);
    this.#ring[place] = traceId;
  }

  /** Returns a fetch that removes rollouts from the exporter's requests. */
  filter(inner: typeof fetch): typeof fetch {
    const filtered: typeof fetch = async (input, init) => {
      const upload = isUpload(init) ? parseJsonObject(String(init?.body)) : null;
      if (upload === null || !Array.isArray(upload.data)) return inner(input, init);
      const data = upload.data.filter((item) => !isJsonObject(item) || !this.#isOfRollout(item));
      if (data.length === 0) return new Response('{}', { headers: { 'content-type': 'application/json' } });
      return inner(input, { ...init, body: JSON.stringify({ ...upload, data }) });
    };
    return markLayer(filtered, { inner });
  }

  /** Removes pending items from the upload queue, because the filter is removed. */
  close(): void {
    for (const ref of this.#waiting) {
      const item = ref.deref();
      if (item !== undefined) excludeFromUpload(item);
    }
    this.#waiting = [];
  }

  #isOfRollout({ object, id, trace_id: traceId }: JsonObject): boolean {
    const ownId = object === 'trace' ? id : traceId;
    return typeof ownId === 'string' && this.#traceIds.has(ownId);
  }
}

/**
 * The exporter skips items without JSON. An interrupted run must still be able to serialise its trace and its agent's span:
 * a trace is serialised with options, and an agent span has no content.
 */
function excludeFromUpload(item: object): void {
  const { spanData, toJSON } = fieldsOf(item);
  if (fieldsOf(spanData).type === 'agent' || typeof toJSON !== 'function') return;
  const value = (...options: unknown[]): unknown => (options.length === 0 ? null : toJSON.apply(item, options));
  Object.defineProperty(item, 'toJSON', { value, configurable: true });
}

/** The exporter's requests are recognised by a header. */
function isUpload(init: RequestInit | undefined): boolean {
  const beta = fieldsOf(init?.headers)['OpenAI-Beta'];
  return typeof beta === 'string' && beta.startsWith('traces') && typeof init?.body === 'string';
}
