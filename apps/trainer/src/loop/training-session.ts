import type {
  AgentLightningError,
  Algorithm,
  JsonValue,
  Run,
  RuntimeCapabilities,
  Store,
  TrainableModel,
} from '@agentlightning/core';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import type { TrainingListener } from '../training-event.ts';
import type { RunState } from './run-state.ts';

/** Everything a training run works with, opened and ready. */
export interface TrainingSession {
  readonly config: ResolvedConfig;
  readonly store: Store;
  readonly run: Run;
  /** Where the run stands; replaced by every {@link TrainingSession.save}. */
  readonly state: RunState;
  readonly algorithm: Algorithm;
  readonly model: TrainableModel;
  /** The model as it was at the start, for a KL term; made when it is first asked for. */
  readonly reference: () => Promise<TrainableModel>;
  readonly capabilities: RuntimeCapabilities;
  readonly trainTasks: readonly JsonValue[];
  readonly heldOutTasks: readonly JsonValue[];
  /** The snapshot of resources that rollouts run with: the model behind the gateway. */
  readonly resourcesId: string;
  /** Resolves with the reason when store, gateway or runtime is gone. */
  readonly failure: Promise<AgentLightningError>;
  /** Throws when gateway or runtime does not answer. */
  readonly assertHealthy: () => Promise<void>;
  readonly emit: TrainingListener;
  readonly signal: AbortSignal;
}
