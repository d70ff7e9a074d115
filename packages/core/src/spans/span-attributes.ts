/**
 * Names of spans and attributes. `agentlightning.*` names are those of the Python
 * Agent Lightning, for compatibility with its adapters; `gen_ai.*` are OpenTelemetry's.
 *
 * @module
 */

/** Span names other than those of model and tool calls. */
export const spanNames = {
  annotation: 'agentlightning.annotation',
  message: 'agentlightning.message',
  object: 'agentlightning.object',
  exception: 'agentlightning.exception',
  operation: 'agentlightning.operation',
  /** A reward that a rule assigned to an intermediate step: shown in traces, not a reward of the attempt. */
  intermediateReward: 'agentlightning.intermediate_reward',
  /** How a training step used the model calls of an attempt, recorded by the trainer; not a step of the agent. */
  training: 'agentlightning.training',
  /** A model call recorded by the gateway. */
  modelCall: 'openai.chat.completion',
  /** The root span of an attempt, recorded by the runner. */
  rollout: 'agentlightning.rollout',
} as const;

/** Attribute names of Agent Lightning, equal to those of the Python package where it has them. */
export const agentLightningAttributes = {
  rolloutId: 'agentlightning.rollout_id',
  attemptId: 'agentlightning.attempt_id',
  spanSequenceId: 'agentlightning.span_sequence_id',
  /** Prefix: `agentlightning.reward.{i}.name` and `.value`; index 0 is the primary reward. */
  reward: 'agentlightning.reward',
  /** JSON of what the agent returned, where a configured reward scores it. */
  output: 'agentlightning.output',
  /** JSON of the scores of such an output, by the part of the reward: `{ "tone": { "score": 0.5, "reason": "…" } }`. */
  scores: 'agentlightning.scores',
  /** JSON of what judges have used since the last such span: by model: `{ "judge": { "calls": 1, "inputTokens": 90, "outputTokens": 7 } }`. */
  judgeUsage: 'agentlightning.judge.usage',
  /** Prefix: `agentlightning.link.{i}.key_match` and `.value_match`. */
  link: 'agentlightning.link',
  /** Prefix: `agentlightning.tag.{i}`. */
  tag: 'agentlightning.tag',
  messageBody: 'agentlightning.message.body',
  objectType: 'agentlightning.object.type',
  objectLiteral: 'agentlightning.object.literal',
  objectJson: 'agentlightning.object.json',
  operationName: 'agentlightning.operation.name',
  operationInput: 'agentlightning.operation.input',
  operationOutput: 'agentlightning.operation.output',
  /** Agent path, from the outermost agent to the caller, joined by `>`. */
  agentPath: 'agentlightning.agent.path',
  /** Kind of a recorded agent step: see `AgentStepKind`. */
  stepKind: 'agentlightning.step.kind',
  /** The framework that reported the step: `langchain`, `openai-agents`, `ai-sdk`. */
  framework: 'agentlightning.framework',
  /** The framework's id of the step. */
  frameworkRunId: 'agentlightning.framework.run_id',
  /** True on a span that was still open when its attempt ended. */
  abandoned: 'agentlightning.abandoned',
  /** The type of an event of the Agent Lightning 1.0 protocol. */
  eventType: 'agentlightning.event.type',
  /** JSON of the data of such an event. */
  eventData: 'agentlightning.event.data',
} as const;

/** Attributes of a model call beyond `gen_ai.*`: token ids and training metadata. */
export const modelCallAttributes = {
  /** Token ids of the prompt, as the engine saw them. */
  promptTokenIds: 'prompt_token_ids',
  /** Number of images of the prompt, where there are any. */
  imageCount: 'agentlightning.image_count',
  /** Token ids of the first choice, as the engine sampled them. */
  responseTokenIds: 'response_token_ids',
  /** Log-probability of each response token of the first choice, at the sampling temperature. */
  responseLogprobs: 'agentlightning.response_logprobs',
  /** Text of each response token of the first choice, where the engine reports it. */
  responseTokens: 'agentlightning.response_tokens',
  /** JSON of all choices, when there is more than one. */
  choices: 'agentlightning.choices',
  /** The policy version of the oldest token of all choices. */
  policyVersion: 'agentlightning.policy_version',
  /** Policy version of each response token of the first choice, when it is not that of the call for all of them. */
  responsePolicyVersions: 'agentlightning.response_policy_versions',
  /** Whether the call can be used for training. */
  isTrainable: 'agentlightning.trainable',
  /** Reason why the call cannot be used for training. */
  untrainableReason: 'agentlightning.untrainable_reason',
  /** Request parameters by which the recorded log-probabilities differ from the policy's, such as `top_p`. */
  alteredSampling: 'agentlightning.altered_sampling',
  /** Whether the response was streamed. */
  isStreamed: 'agentlightning.stream',
  /** Whether the response ended prematurely. */
  isPartial: 'agentlightning.partial',
  /** True for a response from the framework's cache: nothing was sampled. */
  isCached: 'agentlightning.cached',
  /** A `RolloutMode`, such as `train`. */
  mode: 'agentlightning.mode',
  /** API of the agent's request, which can differ from the API of the upstream request. */
  api: 'agentlightning.api',
  /**
   * Length in characters of the prefix of the first system message that holds the `instructions` of a Responses
   * request, which apply to this call only. Set only on calls that can be continued.
   */
  instructionsLength: 'agentlightning.instructions_length',
  /** From request to last byte, in milliseconds. */
  latencyMs: 'agentlightning.latency_ms',
  /** From request to the first byte of the response, in milliseconds. */
  timeToFirstTokenMs: 'agentlightning.time_to_first_token_ms',
  /** HTTP status of the upstream's response. */
  httpStatus: 'agentlightning.http_status',
  /** The model name in the agent's request, where the gateway sent another one to the model server. */
  requestedModel: 'agentlightning.requested_model',
  /** Differences between the agent's request and the one that the model saw, such as `tools[1]: web_search left out`. */
  requestChanges: 'agentlightning.request_changes',
  /** JSON of the request body as the agent sent it. */
  requestBody: 'agentlightning.request_body',
  /** JSON of the response body as the agent received it, without token ids and log-probabilities. */
  responseBody: 'agentlightning.response_body',
} as const;

/** Attributes of a span `agentlightning.annotation` that records feedback on a finished attempt. */
export const annotationAttributes = {
  id: 'agentlightning.annotation.id',
  /** `user`, `reviewer` or `api`; absent in spans of older dashboards, which are of reviewers. */
  source: 'agentlightning.annotation.source',
  user: 'agentlightning.annotation.user',
  /** `good`, `bad`, or `none`, which removes the label. */
  label: 'agentlightning.annotation.label',
  /** The name of its first version, for stored runs. */
  comment: 'agentlightning.annotation.note',
  correction: 'agentlightning.annotation.correction',
  /** Id of a rollout of the same task that is worse. */
  preferredOver: 'agentlightning.annotation.preferred_over',
} as const;

/** Attributes of the spans, resource or metadata of a trace of production. */
export const productionAttributes = {
  /** The name of the deployment, for a store that receives spans by OTLP. */
  deployment: 'agentlightning.deployment',
  /** The version of the deployment that served the request. */
  version: 'agentlightning.deployment.version',
  /** The trial of a candidate that the request was a part of, with either version: the key of the candidate. */
  trial: 'agentlightning.deployment.trial',
  /** The candidate that the request was for, where it was away and another version served it. */
  fallbackFrom: 'agentlightning.deployment.fallback_from',
  /** Why it was away. */
  fallbackReason: 'agentlightning.deployment.fallback_reason',
  /** OpenTelemetry's name of the user. */
  user: 'user.id',
  /** OpenTelemetry's name of the conversation. */
  conversation: 'gen_ai.conversation.id',
} as const;

/** Attributes of a span `agentlightning.training`. */
export const trainingAttributes = {
  /** Training step. */
  step: 'agentlightning.training.step',
  /** Name of the trained policy; absent for a single policy. */
  policy: 'agentlightning.training.policy',
  /** Sequence ids of the model calls that were trained on. */
  calls: 'agentlightning.training.calls',
  /** Advantage of each of these calls. */
  advantages: 'agentlightning.training.advantages',
  /** Prefix: `agentlightning.training.token_advantages.{sequence id}`, for calls whose tokens have different advantages. */
  tokenAdvantages: 'agentlightning.training.token_advantages',
  /** Prefix: `agentlightning.training.trainer_logprobs.{sequence id}`, for calls that the step scored under its weights. */
  trainerLogprobs: 'agentlightning.training.trainer_logprobs',
  /** Sequence ids of the model calls that were not trained on. */
  excludedCalls: 'agentlightning.training.excluded_calls',
  /** Reason for each of these calls: see `TrainingExclusion`. */
  exclusions: 'agentlightning.training.exclusions',
} as const;

/** Further attribute names that the Python Agent Lightning reads. */
export const pythonReaderAttributes = {
  /** The agent that made a call. */
  agentName: 'agent.name',
  /**
   * JSON list of `{ token, logprob }`, one per response token of the first choice. Not stored, because it would be a
   * third of a record: stores derive it on read from the log-probabilities and tokens, see `spanCodec`.
   */
  logprobs: 'logprobs.content',
} as const;

const reservedNames: ReadonlySet<string> = new Set([
  modelCallAttributes.promptTokenIds,
  modelCallAttributes.responseTokenIds,
  modelCallAttributes.responseLogprobs,
  modelCallAttributes.responseTokens,
  modelCallAttributes.choices,
  modelCallAttributes.policyVersion,
  modelCallAttributes.responsePolicyVersions,
  modelCallAttributes.isTrainable,
  modelCallAttributes.untrainableReason,
  pythonReaderAttributes.logprobs,
  agentLightningAttributes.eventType,
  agentLightningAttributes.eventData,
]);

/**
 * Whether an attribute is reserved for the recorder of model calls: the gateway, or the fetch adapter in the trainer's
 * process. Spans with these attributes are training data, so an agent must not record them.
 */
export function isReservedAttribute(name: string): boolean {
  return reservedNames.has(name);
}

/** OpenTelemetry's GenAI attribute names used here. */
export const genAiAttributes = {
  operationName: 'gen_ai.operation.name',
  providerName: 'gen_ai.provider.name',
  requestModel: 'gen_ai.request.model',
  requestTemperature: 'gen_ai.request.temperature',
  requestTopP: 'gen_ai.request.top_p',
  requestMaxTokens: 'gen_ai.request.max_tokens',
  requestSeed: 'gen_ai.request.seed',
  responseId: 'gen_ai.response.id',
  responseModel: 'gen_ai.response.model',
  responseFinishReasons: 'gen_ai.response.finish_reasons',
  usageInputTokens: 'gen_ai.usage.input_tokens',
  usageCachedInputTokens: 'gen_ai.usage.cache_read.input_tokens',
  usageOutputTokens: 'gen_ai.usage.output_tokens',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  toolDefinitions: 'gen_ai.tool.definitions',
  toolName: 'gen_ai.tool.name',
  toolCallId: 'gen_ai.tool.call.id',
  toolCallArguments: 'gen_ai.tool.call.arguments',
  toolCallResult: 'gen_ai.tool.call.result',
  agentName: 'gen_ai.agent.name',
} as const;
