import type { Clock } from '@agentlightning/core';

/** A slot for a run. */
export interface RunSlot {
  /** Sets whether the run waits for a runner. */
  setIdle(isIdle: boolean): void;
  /** Frees the slot. */
  release(): void;
}

/** A request for a slot. */
export interface SlotRequest {
  readonly project: string;
  /** Called when the run must free its slot for another project: it is queued again. */
  readonly onYield: () => void;
  readonly signal: AbortSignal;
}

interface Holder {
  readonly project: string;
  readonly onYield: () => void;
  readonly sinceMs: number;
  idleSinceMs: number | null;
  isYielding: boolean;
}

interface Waiting extends SlotRequest {
  readonly grant: (slot: RunSlot) => void;
}

/** Grace period of a run without a runner whose slot another project waits for, in milliseconds. */
const idleMs = 30_000;

/** Period after which a run frees its slot for another project, whatever it does, in milliseconds. */
const sliceMs = 1_800_000;

/** The time between two checks while projects wait, in milliseconds. */
const checkMs = 1000;

/**
 * The slots for runs at a time, of all projects of a server. Each project waits with one run at a time. A free slot is for the
 * project with the fewest slots, of these the one that waits the longest. A project that waits gets a slot of a run without
 * a runner, one of a project that has at least two more, and one that was held for half an hour.
 */
export class RunSlots {
  readonly #clock: Clock;
  readonly #holders = new Set<Holder>();
  readonly #size: number;
  #waiting: Waiting[] = [];
  #isWatching = false;

  constructor(size: number, clock: Clock) {
    this.#size = size;
    this.#clock = clock;
  }

  /** Takes a slot when there is one; null when the signal aborts first. */
  async take(request: SlotRequest): Promise<RunSlot | null> {
    const { signal } = request;
    if (signal.aborted) return null;
    return await new Promise((resolve) => {
      const leave = (): void => {
        this.#waiting = this.#waiting.filter((each) => each !== waiting);
        resolve(null);
      };
      const grant = (slot: RunSlot): void => {
        signal.removeEventListener('abort', leave);
        resolve(slot);
      };
      const waiting: Waiting = { ...request, grant };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.push(waiting);
      this.#grant();
      if (this.#waiting.length > 0) void this.#watch();
    });
  }

  #grant(): void {
    while (this.#holders.size < this.#size) {
      const next = this.#next();
      if (next === undefined) return;
      this.#waiting = this.#waiting.filter((each) => each !== next);
      next.grant(this.#hold(next));
    }
  }

  #next(): Waiting | undefined {
    const fewest = Math.min(...this.#waiting.map(({ project }) => this.#held(project)));
    return this.#waiting.find(({ project }) => this.#held(project) === fewest);
  }

  #held(project: string): number {
    return [...this.#holders].filter((holder) => holder.project === project).length;
  }

  #hold({ project, onYield }: SlotRequest): RunSlot {
    const holder: Holder = { project, onYield, sinceMs: this.#clock.now(), idleSinceMs: null, isYielding: false };
    this.#holders.add(holder);
    return {
      setIdle: (isIdle) => {
        holder.idleSinceMs = isIdle ? (holder.idleSinceMs ?? this.#clock.now()) : null;
      },
      release: () => {
        this.#holders.delete(holder);
        this.#grant();
      },
    };
  }

  async #watch(): Promise<void> {
    if (this.#isWatching) return;
    this.#isWatching = true;
    while (this.#waiting.length > 0) {
      this.#reclaim();
      await this.#clock.sleep(checkMs);
    }
    this.#isWatching = false;
  }

  /** Takes a slot back for the project that is next. */
  #reclaim(): void {
    const next = this.#next();
    const holders = [...this.#holders];
    // One at a time: its process may take some time to end.
    if (next === undefined || holders.some(({ isYielding }) => isYielding)) return;
    const others = holders.filter(({ project }) => project !== next.project);
    const idleUntilMs = this.#clock.now() - idleMs;
    const idle = others.find(({ idleSinceMs }) => idleSinceMs !== null && idleSinceMs <= idleUntilMs);
    const fair = this.#held(next.project) + 2;
    const surplus = others.findLast(({ project }) => this.#held(project) >= fair);
    const sliceEndMs = this.#clock.now() - sliceMs;
    const chosen = idle ?? surplus ?? others.find(({ sinceMs }) => sinceMs <= sliceEndMs);
    if (chosen === undefined) return;
    chosen.isYielding = true;
    chosen.onYield();
  }
}
