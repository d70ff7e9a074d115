import type { Clock } from '@agentlightning/core';
import type { DashboardStore } from './dashboard-store.ts';
import { RewardIndex } from './reward-index.ts';
import { RolloutLists } from './rollout-lists.ts';
import { RolloutReader } from './rollout-reader.ts';
import type { WarningExplanations } from './run-progress.ts';
import { RunReader } from './run-reader.ts';
import { TaskMaps } from './task-map.ts';

/** What the routes of a dashboard share. */
export interface DashboardContext {
  readonly store: DashboardStore;
  readonly clock: Clock;
  /** Label of the store, without passwords. */
  readonly label: string;
  readonly runs: RunReader;
  readonly tasks: TaskMaps;
  readonly lists: RolloutLists;
  readonly rollouts: RolloutReader;
}

/** Creates the readers of a store. */
export function dashboardContext(options: {
  readonly store: DashboardStore;
  readonly clock: Clock;
  readonly label: string;
  readonly explanations: WarningExplanations;
}): DashboardContext {
  const { store, clock, label } = options;
  const lists = new RolloutLists(store, new RewardIndex(store));
  return {
    store,
    clock,
    label,
    runs: new RunReader(options),
    tasks: new TaskMaps(store),
    lists,
    rollouts: new RolloutReader(store, lists),
  };
}
