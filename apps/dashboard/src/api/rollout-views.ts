import type {
  Attempt,
  Attributes,
  JsonObject,
  JsonValue,
  Reward,
  RolloutMode,
  RolloutStatus,
} from '@agentlightning/core';
import type { CallTraining } from '@agentlightning/core/algorithm';
import type { RolloutReview } from '@agentlightning/core/internal';
import type { RecordedFailure } from '@agentlightning/core/protocol';
import type { RolloutLabel, ScoredOutput } from '@agentlightning/core/spans';
import type { Cost } from '@agentlightning/core/store';
import type { TraceMessage, TraceStepKind, TraceStepOutcome, TraceTokens } from '@agentlightning/trace';

/** A rollout in a list. */
export interface RolloutRow {
  readonly rolloutId: string;
  readonly runId: string | null;
  readonly status: RolloutStatus;
  readonly mode: RolloutMode | null;
  /** Training step; null outside of a run. */
  readonly step: number | null;
  readonly taskIndex: number | null;
  /** Rollouts of one group have the same task and policy; their rewards are compared. */
  readonly groupId: string | null;
  readonly startTimeMs: number;
  readonly endTimeMs: number | null;
  /** Number of attempts. */
  readonly attempts: number;
  readonly workerId: string | null;
  /** Primary dimension of the final reward of the latest attempt; null without one. */
  readonly reward: number | null;
  /** A person's label of the latest attempt; null without one. */
  readonly label: RolloutLabel | null;
  readonly failure: RecordedFailure | null;
  /** The start of the task's input as JSON. */
  readonly preview: string;
}

/** One page of rollouts. */
export interface RolloutPage {
  readonly items: readonly RolloutRow[];
  /** `cursor` of the next page; null on the last one. */
  readonly nextCursor: string | null;
  /** Number of rollouts that match the filters. */
  readonly total: number;
  /** Number of finished rollouts that a filter by text does not find yet. */
  readonly unindexed: number;
}

/** Sort order of rollouts. The orders by reward list only rollouts with a reward. */
export type RolloutSort = 'newest' | 'oldest' | 'reward-high' | 'reward-low';

/** One step of a trace; the steps of a trace are in depth-first order. */
export interface TraceNode {
  readonly spanId: string;
  /** 0 for a root. */
  readonly depth: number;
  readonly sequenceId: number;
  readonly kind: TraceStepKind;
  readonly title: string;
  /** The model that the agent requested, where another one responded; null otherwise. */
  readonly requestedModel: string | null;
  readonly agentPath: readonly string[];
  readonly startTimeMs: number | null;
  readonly endTimeMs: number | null;
  readonly outcome: TraceStepOutcome;
  readonly error: string | null;
  readonly stackTrace: string | null;
  readonly toolArguments: string | null;
  readonly toolResult: string | null;
  readonly tokens: TraceTokens | null;
  readonly rewards: readonly Reward[];
}

/** A model call of a conversation, with the messages that an earlier call does not have. */
export interface ConversationTurn {
  /** The span with the captured tokens and bodies; the adapter's span when the call was not captured. */
  readonly spanId: string;
  /** Sequence id of that span. */
  readonly sequenceId: number;
  /** The model that responded. */
  readonly model: string;
  /** The model that the agent requested, where it is another one; null otherwise. */
  readonly requestedModel: string | null;
  readonly agentPath: readonly string[];
  /** Number of leading messages that {@link continues} already has. */
  readonly knownMessages: number;
  /** The earlier call that this one continues; null for the start of a conversation. */
  readonly continues: string | null;
  readonly inputMessages: readonly TraceMessage[];
  readonly outputMessages: readonly TraceMessage[];
  readonly tokens: TraceTokens | null;
  /** The rewards of the turn, without the final reward of the attempt. */
  readonly rewards: readonly Reward[];
  readonly error: string | null;
}

/** How a training step used the model calls of an attempt. */
export interface TrainingView {
  readonly step: number;
  /** Name of the trained policy; null for a single policy. */
  readonly policy: string | null;
  readonly calls: readonly CallTraining[];
}

/** A rollout with its attempts and the trace of one of them. */
export interface RolloutDetail {
  readonly rollout: RolloutRow;
  readonly input: JsonValue;
  readonly metadata: JsonObject | null;
  readonly resourcesId: string | null;
  readonly attempts: readonly Attempt[];
  /** The attempt whose trace follows; null before the first claim. */
  readonly attemptId: string | null;
  readonly trace: readonly TraceNode[];
  readonly turns: readonly ConversationTurn[];
  /** The training steps that used the attempt; empty when none has recorded it. */
  readonly training: readonly TrainingView[];
  /** The final reward of the attempt, all dimensions; empty without one. */
  readonly rewards: readonly Reward[];
  /** What the agent returned and its scores by part, with their reasons; null where no configured reward scores outputs. */
  readonly scored: ScoredOutput | null;
  /** The rollouts of the same group, this one included, in order of sample. */
  readonly siblings: readonly RolloutRow[];
  /** The review of the attempt. */
  readonly review: RolloutReview;
  /** Cost of the model calls of the attempt, at the prices of the run's configuration. */
  readonly cost: Cost;
  /** Number of spans of the attempt. */
  readonly totalSpans: number;
  /** Whether the trace lacks later spans because the attempt has more than the server reads. */
  readonly isTruncated: boolean;
}

/** The sampled tokens of one choice. */
export interface TokenChoice {
  readonly index: number;
  readonly tokenIds: readonly number[];
  /** Natural logarithms; empty when the engine does not report them. */
  readonly logprobs: readonly number[];
  /** Null when all tokens have the policy version of the call. */
  readonly policyVersions: readonly number[] | null;
  readonly finishReason: string | null;
}

/** The tokens of a model call. */
export interface CallTokens {
  readonly spanId: string;
  readonly promptTokenIds: readonly number[];
  readonly choices: readonly TokenChoice[];
  /** Text of each response token of the first choice; null when the engine does not report it. */
  readonly texts: readonly string[] | null;
  readonly temperature: number;
  /** Policy version of the oldest token; null when unknown. */
  readonly policyVersion: number | null;
  /** Whether the response tokens can be trained on. */
  readonly isTrainable: boolean;
  readonly untrainableReason: string | null;
  /** The training steps that used the call; empty when none has recorded it. */
  readonly training: readonly CallTrainingView[];
}

/** How a training step used a model call. */
export interface CallTrainingView extends CallTraining {
  readonly step: number;
  /** Name of the trained policy; null for a single policy. */
  readonly policy: string | null;
}

/** A recorded span: attributes with the raw bodies of a model call. */
export interface SpanView {
  readonly spanId: string;
  readonly name: string;
  readonly status: string;
  readonly attributes: Attributes;
  /** JSON of the request as the agent sent it; null unless captured. */
  readonly requestBody: string | null;
  readonly responseBody: string | null;
}
