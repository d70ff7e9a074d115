export type { AdvantageOptions, AdvantageType } from './advantage/advantage-options.ts';
export { batchStdAdvantage } from './advantage/batch-std-advantage.ts';
export { estimateByGroup } from './advantage/estimate-by-group.ts';
export type { GaeOptions } from './advantage/gae-options.ts';
export { meanCentredAdvantage, opoAdvantage, rlooAdvantage } from './advantage/group-advantages.ts';
export { grpoAdvantage } from './advantage/grpo-advantage.ts';
export { maxRlAdvantage } from './advantage/maxrl-advantage.ts';
export { reinforcePlusPlusAdvantage } from './advantage/reinforce-plus-plus-advantage.ts';
export { reinforcePlusPlusBaselineAdvantage } from './advantage/reinforce-plus-plus-baseline-advantage.ts';
export type { ScoredTrajectories, ScoredTrajectory } from './advantage/score-trajectories.ts';
export { scoreTrajectories } from './advantage/score-trajectories.ts';
export type { AlgorithmOptions, AlgorithmType, PolicyGradientType, SupervisedType } from './algorithm-options.ts';
export type { ReasonCounts } from './base/reason-counts.ts';
export type { ByAgentCreditOptions } from './credit-assignment/by-agent-credit.ts';
export { byAgentCredit } from './credit-assignment/by-agent-credit.ts';
export type { CreditAssignmentOptions } from './credit-assignment/credit-assignment-options.ts';
export { creditAssignment, lastTurnCredit, terminalCredit } from './credit-assignment/credit-assignment-options.ts';
export type { PerTurnCreditOptions } from './credit-assignment/per-turn-credit.ts';
export { perTurnCredit } from './credit-assignment/per-turn-credit.ts';
export type { ChatMessage } from './dataset/chat-message.ts';
export type { FineTuneExample, FineTuneOptions } from './dataset/fine-tune-examples.ts';
export { fineTuneExamples } from './dataset/fine-tune-examples.ts';
export type { PreferenceExample, PreferenceExampleOptions, PreferenceExamples } from './dataset/preference-examples.ts';
export { preferenceExamples } from './dataset/preference-examples.ts';
export type { DatasetOptions } from './dataset/rollout-calls.ts';
export type { BootstrapOptions } from './evaluation/bootstrap-mean.ts';
export { bootstrapMean } from './evaluation/bootstrap-mean.ts';
export type { MeanComparison } from './evaluation/compare-means.ts';
export { compareMeans, comparePairs } from './evaluation/compare-means.ts';
export type { SequentialComparison, SequentialInterval } from './evaluation/confidence-sequence.ts';
export { compareSequentially } from './evaluation/confidence-sequence.ts';
export type { IntervalOptions, MeanInterval, MeanIntervalOptions } from './evaluation/mean-interval.ts';
export { meanInterval } from './evaluation/mean-interval.ts';
export type { ToolChoice } from './intermediate-reward/automatic-intermediate-rewards.ts';
export { air } from './intermediate-reward/automatic-intermediate-rewards.ts';
export type { LossOptions, PolicyLoss } from './policy-gradient/loss-options.ts';
export type { OverlongPenalty } from './policy-gradient/overlong-penalty.ts';
export type { PolicyGradientOptions } from './policy-gradient/policy-gradient-options.ts';
export type { PairOptions } from './preference/preference-pairs.ts';
export { apo } from './prompt-search/apo.ts';
export type { ApoOptions } from './prompt-search/apo-options.ts';
export { gepa } from './prompt-search/gepa.ts';
export type { GepaOptions } from './prompt-search/gepa-options.ts';
export type { SearchOptions } from './prompt-search/search-options.ts';
export type { PromptSearchOptions, PromptSearchType, RecipeOptions, RecipeType } from './recipe.ts';
export { createRecipe } from './recipe.ts';
export type { AlgorithmFactory, CustomChoice, CustomOptions } from './recipes/custom.ts';
export { custom } from './recipes/custom.ts';
export type { PreferenceOptions } from './recipes/dpo.ts';
export { dpo } from './recipes/dpo.ts';
export type { UnpairedPreferenceOptions } from './recipes/kto.ts';
export { kto } from './recipes/kto.ts';
export type { PolicyGradientRecipe } from './recipes/policy-gradient-recipes.ts';
export {
  cispo,
  dapo,
  drGrpo,
  grpo,
  gspo,
  policyGradientRecipe,
  ppo,
  reinforcePlusPlus,
  rejectionSampling,
  rloo,
} from './recipes/policy-gradient-recipes.ts';
export { createAlgorithm, parseAlgorithmOptions } from './registry.ts';
export type { SamplerCorrection } from './sampler-correction.ts';
export type { LearningRate, LearningRateSchedule } from './step/learning-rate.ts';
export type { StepOptions } from './step/step-options.ts';
export { sft } from './supervised/supervised.ts';
export type { SupervisedOptions } from './supervised/supervised-options.ts';
export type { Aggregation } from './training-batch/aggregation.ts';
export { tokenWeights } from './training-batch/aggregation.ts';
export type { TrainingBatchOptions } from './training-batch/training-batches.ts';
export { splitByTokens, trainingBatches, withReferenceLogprobs } from './training-batch/training-batches.ts';
export type { CollectedTrajectories, CollectOptions } from './trajectory/collect-trajectories.ts';
export { collectTrajectories } from './trajectory/collect-trajectories.ts';
export type { LimitedTrajectory, RowLengthLimit } from './trajectory/limit-row-length.ts';
export { limitRowLength } from './trajectory/limit-row-length.ts';
export type { BuiltTrajectory, RowLevel, TrajectoryInput } from './trajectory/trajectory-from-transitions.ts';
export { trajectoryFromTransitions } from './trajectory/trajectory-from-transitions.ts';
export type { CallChoice } from './transition/call-choice.ts';
export type { JudgedTrace, RewardRule, RuleVerdict, ToolCall } from './transition/reward-rule.ts';
export type { CollectedTransitions, TransitionOptions } from './transition/transitions-from-spans.ts';
export { transitionsFromSpans } from './transition/transitions-from-spans.ts';
export type { RewardChoice } from './transition/turn-rewards.ts';
export { finalReward } from './transition/turn-rewards.ts';
