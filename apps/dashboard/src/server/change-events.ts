import type { Clock } from '@agentlightning/core';
import type { StoreChange } from '@agentlightning/core/store';
import type { ChangeEvent } from '../api/store-views.ts';
import type { DashboardStore } from './dashboard-store.ts';

/** Minimum interval of events in milliseconds. Changes in between are merged into one event. */
const intervalMs = 500;

/** Number of changed rollouts above which an event reports unknown changes instead. */
const maxRollouts = 200;

/** Options of {@link changeEvents}. */
export interface ChangeEventsOptions {
  readonly store: DashboardStore;
  readonly clock: Clock;
  /** Ends the events. */
  readonly signal: AbortSignal;
}

/**
 * The changes of a store, merged. The first event reports unknown changes: what is read after it is complete up to the
 * following events.
 */
export async function* changeEvents(options: ChangeEventsOptions): AsyncGenerator<ChangeEvent, void, undefined> {
  const { store, clock, signal } = options;
  const pending = new PendingChanges();
  const watch = pending.readFrom(store.watchChanges({ signal }));
  while (!signal.aborted) {
    await Promise.race([pending.untilChanged(), watch]);
    if (pending.isEmpty) return;
    yield pending.take();
    await clock.sleep(intervalMs, signal).catch(() => undefined);
  }
}

/** Changes that no event has reported yet. */
class PendingChanges {
  readonly #runIds: Set<string> = new Set();
  readonly #rolloutIds: Set<string> = new Set();
  #isUnknown = false;
  #changed: Promise<void> = Promise.resolve();
  #notify: () => void = () => undefined;

  constructor() {
    this.#reset();
  }

  get isEmpty(): boolean {
    return !this.#isUnknown && this.#runIds.size === 0 && this.#rolloutIds.size === 0;
  }

  untilChanged(): Promise<void> {
    return this.#changed;
  }

  /** Resolves when the changes end. */
  async readFrom(changes: AsyncIterable<StoreChange>): Promise<void> {
    for await (const change of changes) {
      this.#add(change);
      this.#notify();
    }
  }

  take(): ChangeEvent {
    const isUnknown = this.#isUnknown || this.#rolloutIds.size > maxRollouts;
    const event: ChangeEvent = {
      runIds: isUnknown ? [] : [...this.#runIds],
      rolloutIds: isUnknown ? [] : [...this.#rolloutIds],
      isUnknown,
    };
    this.#runIds.clear();
    this.#rolloutIds.clear();
    this.#isUnknown = false;
    this.#reset();
    return event;
  }

  #reset(): void {
    this.#changed = new Promise((resolve) => {
      this.#notify = resolve;
    });
  }

  #add(change: StoreChange): void {
    if (change.kind === 'unknown') this.#isUnknown = true;
    if ('runId' in change && change.runId !== null) this.#runIds.add(change.runId);
    if ('rolloutId' in change) this.#rolloutIds.add(change.rolloutId);
  }
}
