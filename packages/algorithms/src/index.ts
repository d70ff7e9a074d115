export type { AdvantageOptions, AdvantageType } from './advantage/advantage-options.ts';
export { advantageEstimator } from './advantage/advantage-options.ts';
export { batchStdAdvantage } from './advantage/batch-std-advantage.ts';
export { estimateByGroup } from './advantage/estimate-by-group.ts';
export { grpoAdvantage } from './advantage/grpo-advantage.ts';
export { maxRlAdvantage } from './advantage/maxrl-advantage.ts';
export { meanCentredAdvantage } from './advantage/mean-centred-advantage.ts';
export { opoAdvantage } from './advantage/opo-advantage.ts';
export { reinforcePlusPlusAdvantage } from './advantage/reinforce-plus-plus-advantage.ts';
export { reinforcePlusPlusBaselineAdvantage } from './advantage/reinforce-plus-plus-baseline-advantage.ts';
export { rlooAdvantage } from './advantage/rloo-advantage.ts';
export type { ScoredTrajectories, ScoredTrajectory } from './advantage/score-trajectories.ts';
export { scoreTrajectories } from './advantage/score-trajectories.ts';
export type { AlgorithmOptions, AlgorithmType, PolicyGradientType, SupervisedType } from './algorithm-options.ts';
export type { CreditAssignmentOptions } from './credit-assignment/credit-assignment-options.ts';
export { creditAssignment } from './credit-assignment/credit-assignment-options.ts';
export type { PerTurnCreditOptions } from './credit-assignment/per-turn-credit.ts';
export { perTurnCredit } from './credit-assignment/per-turn-credit.ts';
export { terminalCredit } from './credit-assignment/terminal-credit.ts';
export type { ChatMessage } from './dataset/chat-message.ts';
export type { FineTuneExample, FineTuneOptions } from './dataset/fine-tune-examples.ts';
export { fineTuneExamples } from './dataset/fine-tune-examples.ts';
export type { DatasetOptions } from './dataset/judged-calls.ts';
export type { PreferenceExample, PreferenceExampleOptions, PreferenceExamples } from './dataset/preference-examples.ts';
export { preferenceExamples } from './dataset/preference-examples.ts';
export type { MeanComparison } from './evaluation/compare-means.ts';
export { compareMeans, comparePairs } from './evaluation/compare-means.ts';
export type { IntervalOptions, MeanInterval } from './evaluation/mean-interval.ts';
export { meanInterval } from './evaluation/mean-interval.ts';
export type { ToolChoice } from './intermediate-reward/air.ts';
export { air } from './intermediate-reward/air.ts';
export type { JudgedTrace, RewardRule, RuleVerdict, ToolCall } from './intermediate-reward/reward-rule.ts';
export type { LossOptions, PolicyLoss } from './policy-gradient/loss-options.ts';
export type { OverlongPenalty } from './policy-gradient/overlong-penalty.ts';
export type { PolicyGradientOptions } from './policy-gradient/policy-gradient-options.ts';
export type { PreferenceOptions } from './preference/preference-options.ts';
export type { PairOptions, PreferencePair } from './preference/preference-pairs.ts';
export { preferencePairs } from './preference/preference-pairs.ts';
export { apo } from './prompt-search/apo.ts';
export type { ApoOptions } from './prompt-search/apo-options.ts';
export { gepa } from './prompt-search/gepa.ts';
export type { GepaOptions } from './prompt-search/gepa-options.ts';
export type {
  JudgedPrompts,
  OptimizerMessage,
  PromptSearch,
  PromptSearchContext,
  PromptSearchResult,
  PromptSet,
  TriedTask,
} from './prompt-search/prompt-search.ts';
export { assertSameVariables, promptVariables } from './prompt-search/prompt-variables.ts';
export { cispo } from './recipes/cispo.ts';
export { dapo } from './recipes/dapo.ts';
export { dpo } from './recipes/dpo.ts';
export { drGrpo } from './recipes/dr-grpo.ts';
export { grpo } from './recipes/grpo.ts';
export { gspo } from './recipes/gspo.ts';
export type { PolicyGradientRecipe } from './recipes/policy-gradient-recipe.ts';
export { policyGradientRecipe } from './recipes/policy-gradient-recipe.ts';
export { reinforcePlusPlus } from './recipes/reinforce-plus-plus.ts';
export { rejectionSampling } from './recipes/rejection-sampling.ts';
export { rloo } from './recipes/rloo.ts';
export { sft } from './recipes/sft.ts';
export { algorithmTypes, createAlgorithm, parseAlgorithmOptions } from './registry.ts';
export type { SamplerCorrection } from './sampler-correction.ts';
export type { LearningRateSchedule } from './step/learning-rate.ts';
export { learningRateFactor } from './step/learning-rate.ts';
export type { StepOptions } from './step/step-options.ts';
export type { SupervisedOptions } from './supervised/supervised-options.ts';
export type { Tally } from './tally.ts';
export type { Aggregation } from './training-batch/aggregation.ts';
export { tokenWeights } from './training-batch/aggregation.ts';
export { withReferenceLogprobs } from './training-batch/reference-logprobs.ts';
export { splitByTokens } from './training-batch/split-by-tokens.ts';
export type { TrainingBatchOptions } from './training-batch/training-batches.ts';
export { trainingBatches } from './training-batch/training-batches.ts';
export type { CollectedTrajectories, CollectOptions } from './trajectory/collect-trajectories.ts';
export { collectTrajectories } from './trajectory/collect-trajectories.ts';
export type { LimitedTrajectory, RowLengthLimit } from './trajectory/limit-row-length.ts';
export { limitRowLength } from './trajectory/limit-row-length.ts';
export type { BuiltTrajectory, RowSplitReason, TrajectoryInput } from './trajectory/trajectory-from-transitions.ts';
export { trajectoryFromTransitions } from './trajectory/trajectory-from-transitions.ts';
export type { CollectedTransitions, TransitionOptions } from './transition/transitions-from-spans.ts';
export { transitionsFromSpans } from './transition/transitions-from-spans.ts';
export type { RewardChoice } from './transition/turn-rewards.ts';
