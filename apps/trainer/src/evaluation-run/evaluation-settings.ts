import type { PromptSet } from '@agentlightning/core/algorithm';
import { isPromptSearch, type ResolvedRun } from '../config/resolve-run.ts';
import type { RewardDefinition } from '../config/reward-definition.ts';
import type { ResolvedEvaluation } from '../config/sections/evaluation-config.ts';
import type { SamplingConfig } from '../config/sections/sampling-config.ts';
import type { SharedSettings } from '../config/shared-settings.ts';
import type { TaskSource } from '../config/task-source.ts';
import type { EndpointModel } from './evaluate-options.ts';

/** The settings that evaluations need, of a training or a prompt search. */
export interface EvaluationSettings {
  readonly config: ResolvedRun;
  readonly shared: SharedSettings;
  readonly evaluation: ResolvedEvaluation;
  readonly sampling: SamplingConfig;
  readonly reward: RewardDefinition;
  /** The initial prompts of a search; null for a training. */
  readonly prompts: PromptSet | null;
  readonly tasks: {
    readonly train: TaskSource;
    /** The tasks that select checkpoints or versions. */
    readonly validation: TaskSource;
    /** Null when no tasks are held out. */
    readonly test: TaskSource | null;
  };
  /** The endpoint that was passed with the options. */
  readonly endpoint: EndpointModel | null;
  /** Whether the endpoint is a script. */
  readonly isScripted: boolean;
}

/** The settings of a configuration. Evaluations have a separate gateway, in this process. */
export function evaluationSettings(
  config: ResolvedRun,
  endpoint: EndpointModel | null,
  isScripted = false,
): EvaluationSettings {
  const of = { endpoint, isScripted };
  if (isPromptSearch(config)) {
    const { evaluation, sampling, reward, prompts, tasks } = config;
    const shared = withOwnGateway(config.shared);
    return { config: { ...config, shared }, shared, evaluation, sampling, reward, prompts, tasks, ...of };
  }
  const { evaluation, sampling, reward, tasks } = config;
  const own = withOwnGateway(config);
  return {
    config: own,
    shared: own,
    evaluation,
    sampling,
    reward,
    prompts: null,
    tasks: { ...tasks, validation: tasks.validation ?? tasks.test },
    ...of,
  };
}

function withOwnGateway<TSettings extends SharedSettings>(settings: TSettings): TSettings {
  return { ...settings, gateway: { ...settings.gateway, url: null } };
}
