import type { PromptSet } from '@agentlightning/core/algorithm';
import type { ResolvedEvaluation, ResolvedRewards } from '../config/resolve-config.ts';
import { isPromptSearch, type ResolvedRun } from '../config/resolve-run.ts';
import type { RewardDefinition } from '../config/reward-definition.ts';
import type { SharedSettings } from '../config/shared-settings.ts';
import type { TaskSource } from '../config/task-source.ts';
import type { SamplingConfig } from '../config/train-config.ts';
import type { EndpointModel } from './evaluate-options.ts';

/** The settings that evaluations need, of a training or a prompt search. */
export interface EvaluationSettings {
  readonly config: ResolvedRun;
  readonly shared: SharedSettings;
  readonly evaluation: ResolvedEvaluation;
  readonly sampling: SamplingConfig;
  readonly substitutes: RewardDefinition;
  readonly rewards: ResolvedRewards;
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
    const { evaluation, sampling, prompts, tasks } = config;
    const shared = { ...config.shared, gatewayUrl: null };
    const rewards = { range: evaluation.rewardRange ?? null, parts: {} };
    const own = { ...config, shared };
    return { config: own, shared, evaluation, sampling, substitutes: config, rewards, prompts, tasks, ...of };
  }
  const { evaluation, sampling, rewards, tasks } = config;
  const own = { ...config, gatewayUrl: null };
  return {
    config: own,
    shared: own,
    evaluation,
    sampling,
    substitutes: evaluation,
    rewards,
    prompts: null,
    tasks: { ...tasks, validation: tasks.validation ?? tasks.test },
    ...of,
  };
}
