/**
 * Contracts and data types for authors of algorithms: trajectories, advantages, update plans, prompt search.
 *
 * @module
 */
export type { AdvantageEstimate, AdvantageEstimator, CreditAssignment, RolloutReturn } from '../algorithm/advantage.ts';
export type {
  CollectedGroup,
  CollectedRollout,
  ModelUpdate,
  ScoringPolicy,
  ScoringRequest,
  SequenceScores,
  StepContext,
  StepPlan,
} from '../algorithm/algorithm.ts';
export type { AttemptTraining, CallTraining, TrainingExclusion } from '../algorithm/attempt-training.ts';
export type {
  ChosenExample,
  JudgedPrompts,
  OptimizerMessage,
  OptimizerRequest,
  PromptKind,
  PromptSearch,
  PromptSearchBudget,
  PromptSearchContext,
  PromptSearchResult,
  PromptSearchStanding,
  PromptSet,
  PromptTrial,
  SearchedPrompt,
  TriedTask,
} from '../algorithm/prompt-search.ts';
export type {
  ReasonedScore,
  RewardFunction,
  RewardInput,
  RewardMeter,
  RewardPart,
  RewardParts,
  RewardResult,
  RewardVerdict,
} from '../algorithm/reward-function.ts';
export type { EndpointTeacher, ExternalTeacher, PromptRequest, Teacher } from '../algorithm/teacher.ts';
export type { RowImage, TrainedInterval, Trajectory, TrajectoryGroup, TrajectoryRow } from '../algorithm/trajectory.ts';
export type { Transition } from '../algorithm/transition.ts';
