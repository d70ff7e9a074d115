import type { AttemptedRollout, Rollout, Span } from '@agentlightning/core';
import { findFinalReward, spanNames } from '@agentlightning/core/spans';
import { hasAttempt, isTerminalRolloutStatus } from '@agentlightning/core/store';
import type { DashboardStore } from './dashboard-store.ts';

/** Maximum number of rollouts in one search. */
const searchSize = 500;

/** Maximum number of cached rewards; the oldest entries are evicted. */
const maxEntries = 200_000;

/** The final rewards of rollouts, read from their reward spans. Those of finished rollouts are cached. */
export class RewardIndex {
  readonly #store: DashboardStore;
  /** By attempt. */
  readonly #rewards: Map<string, number | null> = new Map();

  constructor(store: DashboardStore) {
    this.#store = store;
  }

  /** The primary reward of the latest attempt of each rollout, by rollout; null without one. */
  async rewardsOf(rollouts: readonly (Rollout | AttemptedRollout)[]): Promise<ReadonlyMap<string, number | null>> {
    const attempted = rollouts.filter(hasAttempt);
    const missing = attempted.filter((rollout) => !this.#rewards.has(keyOf(rollout)));
    const read = new Map<string, number | null>();
    for (let start = 0; start < missing.length; start += searchSize) {
      const part = missing.slice(start, start + searchSize);
      for (const [key, reward] of await this.#read(part)) read.set(key, reward);
    }
    for (const rollout of missing) {
      if (isTerminalRolloutStatus(rollout.status)) this.#remember(keyOf(rollout), read.get(keyOf(rollout)) ?? null);
    }
    return new Map(
      attempted.map((rollout) => {
        const key = keyOf(rollout);
        return [rollout.rolloutId, read.get(key) ?? this.#rewards.get(key) ?? null];
      }),
    );
  }

  async #read(rollouts: readonly AttemptedRollout[]): Promise<ReadonlyMap<string, number | null>> {
    const spans = new Map<string, Span[]>(rollouts.map((rollout) => [keyOf(rollout), []]));
    const rolloutIdIn = rollouts.map(({ rolloutId }) => rolloutId);
    let cursor: string | null = null;
    do {
      const page = await this.#store.searchSpans({
        rolloutIdIn,
        name: spanNames.annotation,
        limit: 1000,
        ...(cursor === null ? {} : { cursor }),
      });
      for (const span of page.items) spans.get(`${span.rolloutId}/${span.attemptId}`)?.push(span);
      cursor = page.nextCursor;
    } while (cursor !== null);
    return new Map([...spans].map(([key, list]) => [key, findFinalReward(list)?.rewards[0]?.value ?? null]));
  }

  #remember(key: string, reward: number | null): void {
    if (this.#rewards.size >= maxEntries) {
      const [oldest] = this.#rewards.keys();
      if (oldest !== undefined) this.#rewards.delete(oldest);
    }
    this.#rewards.set(key, reward);
  }
}

function keyOf({ rolloutId, attempt }: AttemptedRollout): string {
  return `${rolloutId}/${attempt.attemptId}`;
}
