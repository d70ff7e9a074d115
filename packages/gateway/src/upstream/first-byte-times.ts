/** Times to the first byte that are remembered. */
const window = 256;

/** The time to the first byte of the recent responses of an upstream, of streamed and of whole ones. */
export class FirstByteTimes {
  readonly #streamed: number[] = [];
  readonly #whole: number[] = [];

  /** Adds the time of a response, in milliseconds. */
  add(isStreamed: boolean, timeMs: number): void {
    const times = isStreamed ? this.#streamed : this.#whole;
    times.push(timeMs);
    if (times.length > window) times.shift();
  }

  /** Whether there was no response yet. */
  get isEmpty(): boolean {
    return this.#streamed.length + this.#whole.length === 0;
  }

  /** The longest, in milliseconds; null without a response. */
  longestMs(isStreamed: boolean): number | null {
    const times = isStreamed ? this.#streamed : this.#whole;
    return times.length === 0 ? null : Math.max(...times);
  }
}

/** The limit of a first try, in milliseconds, before any upstream of the call has responded. */
const initialMs = 60_000;

/** The least limit, in milliseconds. */
const leastMs = 15_000;

/** The limit as a multiple of the longest recent response. */
const factor = 4;

/** The inputs of {@link firstByteTimeoutMs}. */
export interface FirstByteContext {
  /** The upstreams of the call: a hung one has no responses. */
  readonly upstreams: readonly { readonly firstByteTimes: FirstByteTimes }[];
  readonly isStreamed: boolean;
  /** Earlier tries of the call. */
  readonly tries: number;
  /** The longest limit, in milliseconds. */
  readonly longestMs: number;
}

/**
 * The limit for the first byte where a call can fail over: a multiple of what the recent responses of its upstreams took,
 * doubled with every try, so that a generation that really takes longer ends as well.
 */
export function firstByteTimeoutMs({ upstreams, isStreamed, tries, longestMs }: FirstByteContext): number {
  const known = upstreams.flatMap(({ firstByteTimes }) => firstByteTimes.longestMs(isStreamed) ?? []);
  const firstMs = known.length === 0 ? initialMs : Math.max(leastMs, factor * Math.max(...known));
  return Math.min(longestMs, firstMs * 2 ** tries);
}
