import type { RegisteredUpstream } from './registered-upstream.ts';

/** The order in which one call tries its upstreams: the healthy ones first, each once in a round. */
export class FailoverOrder {
  readonly #preferred: readonly RegisteredUpstream[];
  /** Tried in this round. */
  readonly #tried: Set<RegisteredUpstream> = new Set();
  /** Silent until a timeout. They are not tried twice: the wait is too long. */
  readonly #silent: Set<RegisteredUpstream> = new Set();
  #finishedRounds = 0;

  /** @param preferred - at least one, the preferred one first */
  constructor(preferred: readonly RegisteredUpstream[]) {
    this.#preferred = preferred;
  }

  /** The upstreams for the next try; empty when all were silent. */
  get next(): readonly RegisteredUpstream[] {
    const rank = (upstream: RegisteredUpstream): number =>
      (upstream.health.isUp ? 0 : 2) + (this.#tried.has(upstream) ? 1 : 0);
    return this.#preferred
      .filter((upstream) => !this.#silent.has(upstream))
      .toSorted((left, right) => rank(left) - rank(right));
  }

  /** Rounds in which every upstream that was up has failed. */
  get finishedRounds(): number {
    return this.#finishedRounds;
  }

  /** A try failed. @returns whether the next upstream was not tried in this round yet */
  failed(upstream: RegisteredUpstream, isSilent: boolean): boolean {
    this.#tried.add(upstream);
    if (isSilent) this.#silent.add(upstream);
    const [next] = this.next;
    if (next !== undefined && !this.#tried.has(next)) return true;
    this.#tried.clear();
    this.#finishedRounds += 1;
    return false;
  }
}
