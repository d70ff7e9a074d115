import type { Clock } from '@agentlightning/core';
import type { RunAudit } from '@agentlightning/core/protocol';
import type { AnnotationStore, DashboardStore } from './dashboard-store.ts';
import type { DatasetReader } from './dataset-reader.ts';
import { DeploymentReader } from './deployment-reader.ts';
import type { Replayer } from './replayer.ts';
import { RolloutReader } from './rollout-reader.ts';
import type { WarningExplanations } from './run-progress.ts';
import { RunReader } from './run-reader.ts';
import { TaskMaps } from './task-map.ts';

/** Audits the reward of a run. */
export type RunAuditor = (runId: string) => Promise<RunAudit>;

/** What the routes of a dashboard share. */
export interface DashboardContext {
  readonly store: DashboardStore;
  readonly clock: Clock;
  /** Label of the store, without passwords. */
  readonly label: string;
  /** Records annotations; null when the dashboard only reads. */
  readonly annotator: AnnotationStore | null;
  /** Repeats recorded requests; null without a model. */
  readonly replayer: Replayer | null;
  /** Reads data sets; null when the dashboard offers none. */
  readonly datasets: DatasetReader | null;
  /** Audits the reward of runs; null when the dashboard has no audits. */
  readonly auditor: RunAuditor | null;
  readonly runs: RunReader;
  readonly deployments: DeploymentReader;
  readonly tasks: TaskMaps;
  readonly rollouts: RolloutReader;
}

/** Creates the readers of a store. */
export function dashboardContext(options: {
  readonly store: DashboardStore;
  readonly clock: Clock;
  readonly label: string;
  readonly annotator: AnnotationStore | null;
  readonly replayer: Replayer | null;
  readonly datasets: DatasetReader | null;
  readonly auditor: RunAuditor | null;
  readonly explanations: WarningExplanations;
}): DashboardContext {
  const { store, clock, label, annotator, replayer, datasets, auditor } = options;
  return {
    store,
    clock,
    label,
    annotator,
    replayer,
    datasets,
    auditor,
    runs: new RunReader(options),
    deployments: new DeploymentReader(store),
    tasks: new TaskMaps(store),
    rollouts: new RolloutReader(store),
  };
}
