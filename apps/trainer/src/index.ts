export type { CollectionConfig } from './collection/collection-settings.ts';
export { defineConfig } from './config/define-config.ts';
export type { PricesConfig } from './config/prices-config.ts';
export type {
  EndpointRuntimeConfig,
  OptimizerConfig,
  PromptConfig,
  PromptSearchConfig,
} from './config/prompt-search-config.ts';
export type { ResolvedConfig } from './config/resolve-config.ts';
export type { StopConfig } from './config/stop-config.ts';
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
export type { CurriculumConfig } from './curriculum/curriculum-settings.ts';
export type { DiagnosisConfig } from './diagnosis/diagnosis-settings.ts';
export type { RunWarning, WarningExplanation, WarningName } from './diagnosis/run-warning.ts';
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
export { replayDemonstration } from './rollouts/replay-demonstration.ts';
export type { FitOptions } from './trainer.ts';
export { Trainer } from './trainer.ts';
export type {
  CompletionReason,
  EvaluationPhase,
  EvaluationSummary,
  FinalCheckpoint,
  NothingLeftEvent,
  PromptsOutcome,
  RolloutPhase,
  SearchStart,
  ServiceEvent,
  StepSummary,
  TrainingEvent,
  TrainingListener,
  TrainingSummary,
} from './training-event.ts';
