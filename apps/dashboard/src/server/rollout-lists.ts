import { AgentLightningError, type AttemptedRollout, type Rollout } from '@agentlightning/core';
import type { RolloutPage, RolloutRow } from '../api/rollout-views.ts';
import type { DashboardStore } from './dashboard-store.ts';
import type { RewardIndex } from './reward-index.ts';
import { cursorOf, keyOfCursor, needsRewards, type PageKey, type RolloutFilter, storeQuery } from './rollout-query.ts';
import { rolloutRow } from './rollout-row.ts';

/** Maximum number of rollouts that are read to filter or sort by reward. */
const maxScanned = 50_000;

/** Lists rollouts, page by page. */
export class RolloutLists {
  readonly #store: DashboardStore;
  readonly #rewards: RewardIndex;

  constructor(store: DashboardStore, rewards: RewardIndex) {
    this.#store = store;
    this.#rewards = rewards;
  }

  /**
   * One page. Pages do not overlap when rollouts are added meanwhile: a cursor is a position in the order, not a count.
   *
   * @throws AgentLightningError VALIDATION for rewards without a run, or for a run with too many rollouts for them
   */
  async page(filter: RolloutFilter): Promise<RolloutPage> {
    return needsRewards(filter) ? await this.#byReward(filter) : await this.#byTime(filter);
  }

  /** Rows of rollouts, with their rewards. */
  async rows(rollouts: readonly (Rollout | AttemptedRollout)[]): Promise<readonly RolloutRow[]> {
    const rewards = await this.#rewards.rewardsOf(rollouts);
    return rollouts.map((rollout) => rolloutRow(rollout, rewards.get(rollout.rolloutId) ?? null));
  }

  async #byTime(filter: RolloutFilter): Promise<RolloutPage> {
    const { limit, cursor, sort } = filter;
    const key = cursor === undefined ? null : keyOfCursor(cursor);
    const isNewest = sort === 'newest';
    const { items, total } = await this.#store.queryRollouts({
      ...storeQuery(filter),
      ...(key?.value == null ? {} : isNewest ? { startTimeBeforeMs: key.value + 1 } : { startTimeFromMs: key.value }),
      sortBy: 'startTimeMs',
      sortOrder: isNewest ? 'desc' : 'asc',
      offset: key?.skip ?? 0,
      limit: limit + 1,
    });
    const shown = items.slice(0, limit);
    const next = items.length > limit ? nextKey(shown, (rollout) => rollout.startTimeMs, key) : null;
    const isFirst = key === null;
    return {
      items: await this.rows(shown),
      nextCursor: next === null ? null : cursorOf(next),
      total: isFirst ? total : await this.#total(filter),
    };
  }

  async #total(filter: RolloutFilter): Promise<number> {
    return (await this.#store.queryRollouts({ ...storeQuery(filter), limit: 1 })).total;
  }

  async #byReward(filter: RolloutFilter): Promise<RolloutPage> {
    const { run, minReward = Number.NEGATIVE_INFINITY, maxReward = Number.POSITIVE_INFINITY, sort, limit } = filter;
    if (run === undefined) throw tooBroad('Sorting and filtering by reward needs a run.');
    const { items, total } = await this.#store.queryRollouts({ ...storeQuery(filter), limit: maxScanned });
    if (total > maxScanned) throw tooBroad(`The filters match ${total} rollouts; rewards need at most ${maxScanned}.`);
    const isBounded = filter.minReward !== undefined || filter.maxReward !== undefined;
    const matching = (await this.rows(items)).filter(({ reward }) =>
      reward === null ? !isBounded : reward >= minReward && reward <= maxReward,
    );
    const order = sorted(matching, sort);
    const key = filter.cursor === undefined ? null : keyOfCursor(filter.cursor);
    const sortValueOf = sort.startsWith('reward') ? rewardOf : startOf;
    // Without a row of that value, which changed meanwhile, the list starts again.
    const first = key === null ? -1 : order.findIndex((row) => sortValueOf(row) === key.value);
    const start = first === -1 ? 0 : first + (key?.skip ?? 0);
    const shown = order.slice(start, start + limit);
    const next = start + limit < order.length ? nextKey(shown, sortValueOf, key) : null;
    return { items: shown, nextCursor: next === null ? null : cursorOf(next), total: matching.length };
  }
}

const rewardOf = ({ reward }: RolloutRow): number | null => reward;
const startOf = ({ startTimeMs }: RolloutRow): number => startTimeMs;

/** Rollouts without a reward come last. */
function sorted(rows: readonly RolloutRow[], sort: RolloutFilter['sort']): readonly RolloutRow[] {
  const byTime = (one: RolloutRow, other: RolloutRow): number =>
    one.startTimeMs - other.startTimeMs || (one.rolloutId < other.rolloutId ? -1 : 1);
  if (sort === 'oldest') return [...rows].sort(byTime);
  if (sort === 'newest') return [...rows].sort((one, other) => byTime(other, one));
  const sign = sort === 'reward-high' ? -1 : 1;
  return [...rows].sort((one, other) => {
    if (one.reward === null || other.reward === null) {
      return Number(one.reward === null) - Number(other.reward === null) || byTime(one, other);
    }
    return sign * (one.reward - other.reward) || byTime(one, other);
  });
}

/** The position after a page: the value of its last item, and how many items so far have that value. */
function nextKey<TItem>(
  shown: readonly TItem[],
  sortValueOf: (item: TItem) => number | null,
  key: PageKey | null,
): PageKey | null {
  const last = shown.at(-1);
  if (last === undefined) return null;
  const value = sortValueOf(last);
  const same = shown.filter((item) => sortValueOf(item) === value).length;
  return { value, skip: same + (key?.value === value ? key.skip : 0) };
}

function tooBroad(message: string): AgentLightningError {
  return new AgentLightningError({
    code: 'VALIDATION',
    message,
    remedy: 'Narrow the filters, for example to one run.',
  });
}
