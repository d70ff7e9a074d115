/** So many traces may be waiting to be exported at once; the framework's own queue holds a thousand spans. */
const maxTraces = 10_000;

/** The ids of the traces that rollouts made last. */
export class RecentTraces {
  readonly #ids: Set<string> = new Set();

  add(traceId: string): void {
    if (this.#ids.has(traceId)) return;
    this.#ids.add(traceId);
    const [oldest] = this.#ids;
    if (this.#ids.size > maxTraces && oldest !== undefined) this.#ids.delete(oldest);
  }

  has(traceId: unknown): boolean {
    return typeof traceId === 'string' && this.#ids.has(traceId);
  }
}
