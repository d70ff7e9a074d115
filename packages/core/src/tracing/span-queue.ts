import type { SpanInput } from '../spans/span.ts';

/** Limits of a {@link SpanQueue}. */
export interface SpanQueueLimits {
  readonly maxSpans: number;
  readonly maxBytes: number;
}

/** FIFO queue of spans to store, limited by number and size. */
export class SpanQueue {
  readonly #limits: SpanQueueLimits;
  #spans: SpanInput[] = [];
  #bytes = 0;

  constructor(limits: SpanQueueLimits) {
    this.#limits = limits;
  }

  get length(): number {
    return this.#spans.length;
  }

  /** Adds a span, unless it would exceed a limit. A single span of any size fits an empty queue. */
  offer(span: SpanInput): boolean {
    const bytes = approximateBytes(span);
    const isFull = this.#spans.length >= this.#limits.maxSpans || this.#bytes + bytes > this.#limits.maxBytes;
    if (isFull && this.#spans.length > 0) return false;
    this.#spans.push(span);
    this.#bytes += bytes;
    return true;
  }

  /** Removes and returns the oldest spans, at most `count`. */
  take(count: number): readonly SpanInput[] {
    const taken = this.#spans.slice(0, count);
    this.#spans = this.#spans.slice(count);
    this.#bytes =
      this.#spans.length === 0 ? 0 : this.#bytes - taken.reduce((sum, span) => sum + approximateBytes(span), 0);
    return taken;
  }
}

/** Approximate memory size of a span: its texts and numbers. An exact count would be too slow. */
function approximateBytes(span: SpanInput): number {
  let bytes = 500;
  for (const [name, value] of Object.entries(span.attributes)) {
    bytes += name.length + sizeOf(value);
  }
  for (const event of span.events) {
    for (const value of Object.values(event.attributes)) bytes += sizeOf(value);
  }
  return bytes;
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length * 2;
  if (!Array.isArray(value)) return 8;
  return value.reduce<number>((sum, item) => sum + (typeof item === 'string' ? item.length * 2 : 8), 0);
}
