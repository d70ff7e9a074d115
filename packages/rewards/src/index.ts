export { env, type Secret, type SecretVariable } from '@agentlightning/core/internal';
export type { GroupPart, OutputOptions, PartOptions, PartSettings, ScoredOutput, ScoredPart } from './base/part.ts';
export { duplicates } from './groups/duplicates.ts';
export type { AskOptions, Judge, JudgeLimits, JudgeSettings, JudgeUsage } from './judges/judge.ts';
export { createJudge } from './judges/judge.ts';
export type { AISDKModel, JudgeEndpoint, JudgeEnvironment, JudgePrompt } from './judges/judge-models.ts';
export type { VersionedPrompt } from './judges/judge-prompts.ts';
export { judgePrompts } from './judges/judge-prompts.ts';
export type { JudgingOptions } from './judges/judging.ts';
export type { ReferenceComparisonOptions, SiblingComparisonOptions } from './judges/pairwise.ts';
export { pairwise } from './judges/pairwise.ts';
export type { Criterion, RubricOptions } from './judges/rubric.ts';
export { rubric } from './judges/rubric.ts';
export { ruler } from './judges/ruler.ts';
export type { ConfiguredRewards, PartValue, RewardsOptions } from './rewards.ts';
export { rewards } from './rewards.ts';
export type {
  ForeignScorer,
  ScorerArguments,
  ScorerOptions,
  ScoringFunction,
  ScoringObject,
  ScoringResult,
} from './scorers/scorer.ts';
export { scorer } from './scorers/scorer.ts';
export type { CodeTestOptions, Sandbox, SandboxJob } from './verifiers/code-tests.ts';
export { codeTests } from './verifiers/code-tests.ts';
export type { ExactOptions, TextComparison } from './verifiers/exact.ts';
export { exact } from './verifiers/exact.ts';
export type { AcceptedCall } from './verifiers/function-call.ts';
export { functionCall } from './verifiers/function-call.ts';
export type { JsonSchema, StandardSchema } from './verifiers/json-schema.ts';
export { jsonSchema } from './verifiers/json-schema.ts';
export type { NumericOptions } from './verifiers/numeric.ts';
export { numeric } from './verifiers/numeric.ts';
export type { SqlResultOptions } from './verifiers/sql-result.ts';
export { sqlResult } from './verifiers/sql-result.ts';
export type { CitationOptions, LengthOptions, RepetitionOptions } from './verifiers/text-verifiers.ts';
export { citations, length, oneOf, pattern, repetition } from './verifiers/text-verifiers.ts';
