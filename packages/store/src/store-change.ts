import type { StoreChange } from '@agentlightning/core/store';

export type { StoreChange } from '@agentlightning/core/store';

/** Hears of changes: those of one transaction, or several, in the order in which they were committed. */
export type StoreChangeListener = (changes: readonly StoreChange[]) => void;

/** Stands for whatever another process may have changed. */
export const unknownChange: readonly StoreChange[] = [{ kind: 'unknown' }];

/** Collects, within one transaction, what is told once it is committed: of each thing, how it is in the end. */
export class ChangeRecorder {
  readonly #changes = new Map<string, StoreChange>();

  /** Notes a change; it replaces what was noted of the same thing before. */
  record(change: StoreChange): void {
    const key = subjectOf(change);
    const known = this.#changes.get(key);
    // The newest comes last.
    this.#changes.delete(key);
    this.#changes.set(key, change.kind === 'spans' && known?.kind === 'spans' ? together(known, change) : change);
  }

  /** What was noted, in order. */
  get changes(): readonly StoreChange[] {
    return [...this.#changes.values()];
  }
}

type SpansChange = StoreChange & { readonly kind: 'spans' };

function together(earlier: SpansChange, later: SpansChange): SpansChange {
  const lastSequenceId = Math.max(earlier.lastSequenceId, later.lastSequenceId);
  return { ...later, count: earlier.count + later.count, lastSequenceId };
}

/** What a change is about: two changes of one subject in one transaction are told as one. */
function subjectOf(change: StoreChange): string {
  switch (change.kind) {
    case 'rollout':
    case 'rollout-deleted':
      return JSON.stringify(['rollout', change.rolloutId]);
    case 'attempt':
    case 'spans':
      return JSON.stringify([change.kind, change.rolloutId, change.attemptId]);
    case 'resources':
      return JSON.stringify(['resources', change.resourcesId]);
    case 'run':
    case 'run-deleted':
      return JSON.stringify(['run', change.runId]);
    case 'unknown':
      return 'unknown';
  }
}

/** Tells those who listen in this process about changes, of this process and of others. */
export class ChangeFeed {
  readonly #listeners = new Set<StoreChangeListener>();

  /** Calls the listener for every change until the function it returns is called. */
  subscribe(listener: StoreChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tells every listener. */
  publish(changes: readonly StoreChange[]): void {
    if (changes.length === 0) return;
    for (const listener of [...this.#listeners]) listener(changes);
  }
}
