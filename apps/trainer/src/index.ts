export type { ResolvedConfig } from './config/resolve-config.ts';
export type {
  EvaluationConfig,
  PolicyConfig,
  RuntimeConfig,
  SamplingConfig,
  StoreConfig,
  TrainConfig,
} from './config/train-config.ts';
export { defineConfig } from './config/train-config.ts';
export type { TrainOptions } from './trainer.ts';
export { Trainer } from './trainer.ts';
export type {
  EvaluationPhase,
  EvaluationSummary,
  RolloutPhase,
  StepSummary,
  TrainingEvent,
  TrainingListener,
  TrainingSummary,
} from './training-event.ts';
