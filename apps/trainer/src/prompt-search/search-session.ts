import type { JsonValue, Run, Store } from '@agentlightning/core';
import type { ResolvedPromptSearch } from '../config/resolve-prompt-search.ts';
import type { TrainingListener } from '../events/training-listener.ts';
import type { OptimizerModel } from './optimizer-model.ts';
import type { PromptResources } from './prompt-resources.ts';
import type { PromptUse } from './prompt-use.ts';
import type { SearchProgress } from './search-progress.ts';
import type { SearchRecord } from './search-record.ts';

/** The validated tasks of a search. */
export interface SearchTasks {
  readonly train: readonly JsonValue[];
  readonly validation: readonly JsonValue[];
  /** Empty without held-out tasks. */
  readonly test: readonly JsonValue[];
}

/** The open components of a prompt search. */
export interface SearchSession {
  readonly config: ResolvedPromptSearch;
  readonly run: Run;
  readonly store: Store;
  readonly tasks: SearchTasks;
  readonly record: SearchRecord;
  readonly resources: PromptResources;
  /** Null without one. */
  readonly optimizer: OptimizerModel | null;
  readonly progress: SearchProgress;
  readonly promptUse: PromptUse;
  /** Throws when gateway, model or optimiser do not respond. */
  readonly assertHealthy: () => Promise<void>;
  readonly emit: TrainingListener;
  /** Emits each distinct warning once. */
  readonly warnOnce: (message: string) => void;
  /** Aborts when the run is stopped, or when a dependency fails. */
  readonly signal: AbortSignal;
}
