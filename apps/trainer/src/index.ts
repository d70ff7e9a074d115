export type {
  CompletionReason,
  EvaluationPhase,
  EvaluationSummary,
  FinalCheckpoint,
  NothingLeftEvent,
  PromptsOutcome,
  RolloutPhase,
  RunWarning,
  SearchStart,
  StepSummary,
  TrainingEvent,
  TrainingSummary,
  WarningExplanation,
  WarningName,
} from '@agentlightning/core/protocol';
export { env, type Secret, type SecretVariable } from '@agentlightning/core/settings';
export { defineConfig } from './config/define-config.ts';
export type { PolicyConfig } from './config/policies.ts';
export type { AgentsConfig } from './config/sections/agents-config.ts';
export type { CheckpointsConfig } from './config/sections/checkpoints-config.ts';
export type { CollectionConfig, CurriculumConfig } from './config/sections/collection-config.ts';
export type { StoredRolloutOptions, StoredRollouts } from './config/sections/data-config.ts';
export { fromRun } from './config/sections/data-config.ts';
export type { EvaluationConfig } from './config/sections/evaluation-config.ts';
export type { GatewayConfig } from './config/sections/gateway-config.ts';
export type { BudgetConfig, LimitsConfig } from './config/sections/limits-config.ts';
export type {
  EndpointRuntimeConfig,
  OptimizerConfig,
  PromptConfig,
  PromptSearchConfig,
} from './config/sections/prompt-search-config.ts';
export type { ConfiguredReward, RewardConfig } from './config/sections/reward-config.ts';
export type { PricesConfig, RunConfig, StoreConfig } from './config/sections/run-config.ts';
export type { RuntimeConfig, RuntimeTls } from './config/sections/runtime-config.ts';
export type { SamplingConfig } from './config/sections/sampling-config.ts';
export type { StageConfig } from './config/sections/stages-config.ts';
export type { StopConfig } from './config/sections/stop-config.ts';
export type { StoredDataset, StoredTasks, StoredTraces } from './config/sections/stored-tasks.ts';
export { fromStore } from './config/sections/stored-tasks.ts';
export type { StoredTrainConfig, TrainConfig } from './config/train-config.ts';
export type { DevOptions, DevReport, DevRollout } from './evaluation-run/dev-options.ts';
export type { EndpointModel, EvaluateOptions, SubjectOptions } from './evaluation-run/evaluate-options.ts';
export type { EvaluationEvent, EvaluationListener } from './evaluation-run/evaluation-event.ts';
export type {
  EvaluatedSubject,
  EvaluationComparison,
  EvaluationReport,
  TaskDifference,
} from './evaluation-run/evaluation-report.ts';
export type { ScriptedAnswer } from './evaluation-run/scripted-endpoint.ts';
export type { ServiceEvent, TrainingListener } from './events/training-listener.ts';
export { replayDemonstration } from './rollouts/replay-demonstration.ts';
export type { FitOptions } from './trainer.ts';
export { Trainer } from './trainer.ts';
