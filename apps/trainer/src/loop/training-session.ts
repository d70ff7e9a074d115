import type { Algorithm, RuntimeCapabilities, Store, TrainableModel } from '@agentlightning/core';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import type { TrainingListener } from '../training-event.ts';
import type { FoundRun } from './find-or-begin-run.ts';
import type { RunTasks } from './rollout-shape.ts';

/** Everything a training run works with, opened and ready. */
export interface TrainingSession extends FoundRun {
  readonly config: ResolvedConfig;
  readonly store: Store;
  readonly algorithm: Algorithm;
  readonly model: TrainableModel;
  /** The model as it was at the start, for a KL term; made when it is first asked for. */
  readonly reference: () => Promise<TrainableModel>;
  readonly capabilities: RuntimeCapabilities;
  readonly tasks: RunTasks;
  /** The snapshot of resources that rollouts run with: the model behind the gateway. */
  readonly resourcesId: string;
  /** Aborts with the reason when something the run depends on is gone. */
  readonly failure: AbortSignal;
  /** Throws when gateway, model endpoint or runtime does not answer. */
  readonly assertHealthy: () => Promise<void>;
  readonly emit: TrainingListener;
  /** Aborts when the run is to stop. */
  readonly signal: AbortSignal;
}
