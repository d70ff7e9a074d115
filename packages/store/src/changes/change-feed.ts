import type { StoreChange } from '@agentlightning/core/store';

export type { StoreChange } from '@agentlightning/core/store';

/** Receives the changes of one or more transactions, in the order of their commits. */
export type StoreChangeListener = (changes: readonly StoreChange[]) => void;

/** An unspecified change by another process. */
export const unknownChange: readonly StoreChange[] = [{ kind: 'unknown' }];

/** Collects the changes of one transaction, coalesced by subject, for publishing after the commit. */
export class ChangeRecorder {
  readonly #changes = new Map<string, StoreChange>();

  /** Records a change; it replaces the previous change of the same subject. */
  record(change: StoreChange): void {
    const key = subjectOf(change);
    const known = this.#changes.get(key);
    // Deleted first to move the subject to the end.
    this.#changes.delete(key);
    this.#changes.set(key, change.kind === 'spans' && known?.kind === 'spans' ? mergeSpans(known, change) : change);
  }

  /** The recorded changes, in order. */
  get changes(): readonly StoreChange[] {
    return [...this.#changes.values()];
  }
}

type SpansChange = StoreChange & { readonly kind: 'spans' };

function mergeSpans(earlier: SpansChange, later: SpansChange): SpansChange {
  const lastSequenceId = Math.max(earlier.lastSequenceId, later.lastSequenceId);
  return { ...later, count: earlier.count + later.count, lastSequenceId };
}

/** The subject of a change: changes of one subject in one transaction are coalesced. */
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

/** Publishes changes, of this and of other processes, to the listeners in this process. */
export class ChangeFeed {
  readonly #listeners = new Set<StoreChangeListener>();

  /** Adds a listener; returns the function that removes it. */
  subscribe(listener: StoreChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Notifies all listeners. */
  publish(changes: readonly StoreChange[]): void {
    if (changes.length === 0) return;
    for (const listener of [...this.#listeners]) listener(changes);
  }
}
