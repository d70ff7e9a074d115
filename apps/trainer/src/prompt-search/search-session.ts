import type { JsonValue, Run, Store } from '@agentlightning/core';
import type { ResolvedPromptSearch } from '../config/resolve-prompt-search.ts';
import type { TrainingListener } from '../training-event.ts';
import type { OptimizerModel } from './optimizer-model.ts';
import type { PromptResources } from './prompt-resources.ts';
import type { SearchProgress } from './search-progress.ts';
import type { SearchRecord } from './search-record.ts';

/** The tasks of a search, read and checked. */
export interface SearchTasks {
  readonly train: readonly JsonValue[];
  readonly validation: readonly JsonValue[];
  /** None when nothing is held out. */
  readonly test: readonly JsonValue[];
}

/** Everything a search for prompts works with, opened and ready. */
export interface SearchSession {
  readonly config: ResolvedPromptSearch;
  readonly run: Run;
  readonly store: Store;
  readonly tasks: SearchTasks;
  readonly record: SearchRecord;
  readonly resources: PromptResources;
  readonly optimizer: OptimizerModel;
  readonly progress: SearchProgress;
  /** Throws when gateway, model or optimiser do not answer. */
  readonly assertHealthy: () => Promise<void>;
  readonly emit: TrainingListener;
  /** Warns of what is the same whenever it is found, once. */
  readonly warnOnce: (message: string) => void;
  /** Aborts when the run is to stop, and when something that it depends on is gone. */
  readonly signal: AbortSignal;
}
