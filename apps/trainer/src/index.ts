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
export { defineConfig } from './config/define-config.ts';
export type { ResolvedConfig } from './config/resolve-config.ts';
export type { CollectionConfig } from './config/sections/collection-settings.ts';
export type { CurriculumConfig } from './config/sections/curriculum-settings.ts';
export type { DiagnosisConfig } from './config/sections/diagnosis-settings.ts';
export type { PricesConfig } from './config/sections/prices-config.ts';
export type {
  EndpointRuntimeConfig,
  OptimizerConfig,
  PromptConfig,
  PromptSearchConfig,
} from './config/sections/prompt-search-config.ts';
export type { StopConfig } from './config/sections/stop-config.ts';
export type {
  EvaluationConfig,
  PolicyConfig,
  RewardsConfig,
  RuntimeConfig,
  RuntimeTls,
  SamplingConfig,
  StoreConfig,
  TrainConfig,
} from './config/train-config.ts';
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
