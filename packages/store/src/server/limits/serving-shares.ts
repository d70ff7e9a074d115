import { AgentLightningError, type Clock } from '@agentlightning/core';
import type { Context } from 'hono';

/** The share of the serving thread that a project may use while others use it too. */
const share = 0.125;
/** Time that a project may use at once, in milliseconds. */
const burstMs = 50;
/** Time beyond its share that is remembered of a project, in milliseconds: it waits at most eight times as long. */
const maxDebtMs = 2000;
/** Period after its last use in which a project counts as using the thread, in milliseconds. */
const activeMs = 1000;
/** Interval at which waiting requests check whether others still use the thread, in milliseconds. */
const checkMs = 100;
/** The most waiting requests of a project. */
const maxWaiting = 256;
/** Estimated time of receiving a request, and each MiB of its body, in milliseconds. */
const receiptMs = { request: 0.3, mebibyte: 10 } as const;
const mebibyte = 2 ** 20;

interface ProjectUse {
  /** Used time that the share has not yet paid, in milliseconds, at `atMs`. */
  debtMs: number;
  atMs: number;
  usedAtMs: number;
  waiting: number;
  /** Ends with the last waiting request. */
  queue: Promise<void>;
}

/**
 * Shares the serving thread between projects. A project that is alone may use all of it. While several projects use it, the
 * requests of one that has used more than an eighth wait before their bodies are read, in order; further ones fail with 429.
 * The rest stays free, so that the requests of the others seldom wait for a long one.
 */
export class ServingShares {
  readonly #clock: Clock;
  readonly #uses = new Map<string, ProjectUse>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records that work for a project has occupied the thread. */
  charge(project: string, ms: number): void {
    const use = this.#use(project);
    use.debtMs = Math.min(use.debtMs + ms, maxDebtMs);
    use.usedAtMs = use.atMs;
  }

  /**
   * Waits until a project may send the next request.
   *
   * @throws AgentLightningError RESOURCE_EXHAUSTED when too many of its requests wait
   */
  async admit(project: string, { headers, signal }: Pick<Request, 'headers' | 'signal'>): Promise<void> {
    const use = this.#use(project);
    if (use.waiting > 0 || this.#delayMs(project) > 0) await this.#wait(project, signal);
    const isChunked = headers.has('transfer-encoding');
    const bytes = isChunked ? mebibyte : Number(headers.get('content-length') ?? 0);
    this.charge(project, receiptMs.request + (bytes / mebibyte) * receiptMs.mebibyte);
  }

  async #wait(project: string, signal: AbortSignal): Promise<void> {
    const use = this.#use(project);
    if (use.waiting >= maxWaiting) throw exhausted(project);
    use.waiting += 1;
    const turn = use.queue.then(async () => {
      for (let delayMs = this.#delayMs(project); delayMs > 0; delayMs = this.#delayMs(project)) {
        await this.#clock.sleep(Math.min(delayMs, checkMs), signal);
      }
    });
    use.queue = turn.catch(() => undefined);
    try {
      await turn;
    } finally {
      use.waiting -= 1;
    }
  }

  /** The time until a project is within its share; 0 for one that is alone. */
  #delayMs(project: string): number {
    const { debtMs, atMs } = this.#use(project);
    if (debtMs <= burstMs) return 0;
    const isActive = ([name, { usedAtMs }]: [string, ProjectUse]): boolean =>
      name !== project && usedAtMs > atMs - activeMs;
    return [...this.#uses].some(isActive) ? (debtMs - burstMs) / share : 0;
  }

  #use(project: string): ProjectUse {
    const nowMs = this.#clock.now();
    const use = this.#uses.get(project) ?? {
      debtMs: 0,
      atMs: nowMs,
      usedAtMs: Number.NEGATIVE_INFINITY,
      waiting: 0,
      queue: Promise.resolve(),
    };
    this.#uses.set(project, use);
    use.debtMs = Math.max(0, use.debtMs - Math.max(0, nowMs - use.atMs) * share);
    use.atMs = nowMs;
    return use;
  }
}

function exhausted(project: string): AgentLightningError {
  return new AgentLightningError({
    code: 'RESOURCE_EXHAUSTED',
    message: `${maxWaiting} requests of project ${project} wait for its share of the server`,
    remedy: 'Send fewer requests at a time; retry later.',
    details: { limit: maxWaiting },
  });
}

type Charge = (ms: number) => void;

const charges = new WeakMap<Context, Charge>();

/** Records who is charged for the work of a request. */
export function noteCharge(context: Context, charge: Charge): void {
  charges.set(context, charge);
}

/** Does synchronous work of a request, which its project is charged for. */
export function charged<TResult>(context: Context, work: () => TResult): TResult {
  const startedMs = performance.now();
  try {
    return work();
  } finally {
    charges.get(context)?.(performance.now() - startedMs);
  }
}
