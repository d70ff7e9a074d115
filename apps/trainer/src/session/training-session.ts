import type { Store } from '@agentlightning/core';
import type { RuntimeCapabilities } from '@agentlightning/core/training-runtime';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import type { TrainingListener } from '../events/training-listener.ts';
import type { FinishedRollout } from '../results/finished-rollout.ts';
import type { FoundRun } from '../run/find-or-create-run.ts';
import type { RunTasks } from '../run/run-shape.ts';
import type { StepRecords } from '../run/step-records.ts';
import type { OpenGateway } from '../runtime/open-gateway.ts';
import type { SessionPolicy } from './session-policies.ts';

/** The opened dependencies of a training run. */
export interface TrainingSession extends FoundRun {
  readonly config: ResolvedConfig;
  readonly store: Store;
  /** The policies in the order of the configuration; at least one is trained. */
  readonly policies: readonly SessionPolicy[];
  /** The number of rollouts of each task in a step. */
  readonly groupSize: number;
  readonly capabilities: RuntimeCapabilities;
  readonly tasks: RunTasks;
  /** Stored rollouts to train on; null for a run that collects rollouts. */
  readonly data: SessionData | null;
  /** The resource snapshot of rollouts: the policies behind the gateway. */
  readonly resourcesId: string;
  /** Aborts when a dependency of the run fails, with the error. */
  readonly failure: AbortSignal;
  /** Throws when the gateway, a model endpoint or the runtime does not respond. */
  readonly assertHealthy: () => Promise<void>;
  /** Holds new model calls at the gateway while an action runs. */
  readonly pauseCalls: OpenGateway['pauseCalls'];
  readonly emit: TrainingListener;
  /** Keys of emitted warnings: each is emitted once. */
  readonly emittedWarnings: Set<string>;
  /** The metrics of the finished steps that warnings are derived from. */
  readonly stepHistory: StepRecords;
  /** The time in which the run was worked on, of earlier processes too, in seconds. */
  readonly workedSeconds: () => number;
  /** Aborts to stop the run. */
  readonly signal: AbortSignal;
}

/** The stored rollouts of a run, by the index of their group in `tasks.train`. */
export interface SessionData {
  /** Reads the rollouts of groups, with token ids. */
  read(groups: readonly number[]): Promise<readonly FinishedRollout[]>;
}

/** The session of a run on stored data. */
export type StoredSession = TrainingSession & { readonly data: SessionData };

/** Whether a run trains on stored data. */
export function isStoredSession(session: TrainingSession): session is StoredSession {
  return session.data !== null;
}
