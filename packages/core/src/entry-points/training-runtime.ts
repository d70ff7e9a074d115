/**
 * Data types of the training runtime contract: batches, losses, checkpoints, capabilities.
 *
 * @module
 */
export type { AdamParameters, LossSpec, TrainingBatch, TrainingDatum } from '../training-runtime/training-batch.ts';
export type {
  BatchResult,
  Checkpoint,
  CreateModelOptions,
  ForwardOptions,
  InferenceEndpoint,
  LoraConfig,
  ModelState,
  PendingOperation,
  PublishedWeights,
  RuntimeCapabilities,
  RuntimeFeature,
  StepResult,
  TrainableModel,
  WeightProbe,
} from '../training-runtime/training-runtime.ts';
