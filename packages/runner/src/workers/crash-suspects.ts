/**
 * Rollouts that ran in processes which ended without a known cause. Each of them may have ended its process: they run one
 * at a time, until each has ended or the next end of a process has only one possible cause.
 */
export class CrashSuspects {
  readonly #counts = new Map<string, number>();
  readonly #waiting = new Set<() => void>();

  /** Whether worker processes run one rollout at a time. */
  get isExclusive(): boolean {
    return [...this.#counts.values()].some((count) => count > 1);
  }

  /** Whether the process of the rollout has ended before. */
  has(rolloutId: string): boolean {
    return this.#counts.has(rolloutId);
  }

  /**
   * Records the rollouts of an ended process.
   *
   * @param isByAgent - whether one of them ended it; otherwise, an operator or the system may have killed it, and the rollouts are
   *   suspects only after it happened twice
   */
  add(rolloutIds: readonly string[], isByAgent: boolean): void {
    for (const id of rolloutIds) this.#counts.set(id, (this.#counts.get(id) ?? 0) + (isByAgent ? 2 : 1));
  }

  /** A rollout has ended without its process. */
  remove(rolloutId: string): void {
    this.#counts.delete(rolloutId);
    this.notify();
  }

  /** The cause is found. */
  clear(): void {
    this.#counts.clear();
    this.notify();
  }

  /** Ends all waits, which check their conditions again. */
  notify(): void {
    for (const resume of [...this.#waiting]) resume();
  }

  /** Waits for the next change. */
  async change(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    let resume: () => void = () => undefined;
    await new Promise<void>((resolve) => {
      resume = resolve;
      this.#waiting.add(resume);
      signal.addEventListener('abort', resume, { once: true });
    });
    this.#waiting.delete(resume);
    signal.removeEventListener('abort', resume);
  }
}
