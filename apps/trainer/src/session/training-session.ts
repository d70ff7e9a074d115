import type { Store } from '@agentlightning/core';
import type { RuntimeCapabilities } from '@agentlightning/core/training-runtime';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import type { FoundRun } from '../run/find-or-begin-run.ts';
import type { RunTasks } from '../run/run-shape.ts';
import type { TrainingListener } from '../training-event.ts';
import type { SessionPolicy } from './session-policies.ts';

/** Everything a training run works with, opened and ready. */
export interface TrainingSession extends FoundRun {
  readonly config: ResolvedConfig;
  readonly store: Store;
  /** The models at work, in the order of the configuration; at least one of them is trained. */
  readonly policies: readonly SessionPolicy[];
  /** How many rollouts of each task a step has. */
  readonly groupSize: number;
  readonly capabilities: RuntimeCapabilities;
  readonly tasks: RunTasks;
  /** The snapshot of resources that rollouts run with: the model behind the gateway. */
  readonly resourcesId: string;
  /** Aborts with the reason when something the run depends on is gone. */
  readonly failure: AbortSignal;
  /** Throws when gateway, model endpoint or runtime does not answer. */
  readonly assertHealthy: () => Promise<void>;
  readonly emit: TrainingListener;
  /** What was warned of already, so that it is not said in every step. */
  readonly emittedWarnings: Set<string>;
  /** Aborts when the run is to stop. */
  readonly signal: AbortSignal;
}
