/**
 * The names of spans and attributes, in one place. `agentlightning.*` are those of the Python
 * Agent Lightning, so that its adapters read our spans; `gen_ai.*` are OpenTelemetry's.
 *
 * @module
 */

/** Names of the spans that are not model or tool calls. */
export const spanNames = {
  annotation: 'agentlightning.annotation',
  message: 'agentlightning.message',
  object: 'agentlightning.object',
  exception: 'agentlightning.exception',
  operation: 'agentlightning.operation',
  /** A reward that a rule gave to a step on the way: shown in traces, and no reward of the attempt's own. */
  intermediateReward: 'agentlightning.intermediate_reward',
  /** A model call as the gateway recorded it. */
  modelCall: 'openai.chat.completion',
  /** The root span of an attempt, made by the runner. */
  rollout: 'agentlightning.rollout',
} as const;

/** Attribute names of ours, as the Python package has them where it has them. */
export const agentLightningAttributes = {
  rolloutId: 'agentlightning.rollout_id',
  attemptId: 'agentlightning.attempt_id',
  spanSequenceId: 'agentlightning.span_sequence_id',
  /** Prefix: `agentlightning.reward.{i}.name` and `.value`; index 0 is the primary reward. */
  reward: 'agentlightning.reward',
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
  /** The agents at work, from the outermost to the one that made the call, joined by `>`. */
  agentPath: 'agentlightning.agent.path',
  /** What kind of step of an agent a span records: see `AgentStepKind`. */
  stepKind: 'agentlightning.step.kind',
  /** The framework that told of the step: `langchain`, `openai-agents`, `ai-sdk`. */
  framework: 'agentlightning.framework',
  /** The framework's own id of the step. */
  frameworkRunId: 'agentlightning.framework.run_id',
  /** True on a span that was still open when its attempt ended. */
  abandoned: 'agentlightning.abandoned',
  /** The type of an event of the Agent Lightning 1.0 protocol. */
  eventType: 'agentlightning.event.type',
  /** JSON of the data of such an event. */
  eventData: 'agentlightning.event.data',
} as const;

/** Attributes of a model call beyond `gen_ai.*`: token ids and what training needs to know. */
export const modelCallAttributes = {
  /** Token ids of the prompt, as the engine saw them. */
  promptTokenIds: 'prompt_token_ids',
  /** Token ids of the first choice, as the engine sampled them. */
  responseTokenIds: 'response_token_ids',
  /** Log-probability of each response token of the first choice, at the sampling temperature. */
  responseLogprobs: 'agentlightning.response_logprobs',
  /** The text of each response token of the first choice, where the engine told it. */
  responseTokens: 'agentlightning.response_tokens',
  /** JSON of every choice, when there is more than one. */
  choices: 'agentlightning.choices',
  /** The policy version that served the call. */
  policyVersion: 'agentlightning.policy_version',
  /** Whether the call may be trained on. */
  isTrainable: 'agentlightning.trainable',
  /** Why not, when it may not. */
  untrainableReason: 'agentlightning.untrainable_reason',
  /** Whether the answer was streamed. */
  isStreamed: 'agentlightning.stream',
  /** Whether the answer broke off before its end. */
  isPartial: 'agentlightning.partial',
  /** True when the framework's own cache answered: nothing was sampled, and there is nothing to train on. */
  isCached: 'agentlightning.cached',
  /** `train`, `val` or `test`. */
  mode: 'agentlightning.mode',
  /** The API that the agent spoke, also where the gateway asked the model in another one. */
  api: 'agentlightning.api',
  /**
   * How many characters at the beginning of the first system message were the instructions of a Responses request, which
   * are those of this call only. Only on calls that others may go on with.
   */
  instructionsLength: 'agentlightning.instructions_length',
  /** From request to last byte, in milliseconds. */
  latencyMs: 'agentlightning.latency_ms',
  /** From request to the first byte of the answer, in milliseconds. */
  timeToFirstTokenMs: 'agentlightning.time_to_first_token_ms',
  /** HTTP status of the upstream's answer. */
  httpStatus: 'agentlightning.http_status',
  /** JSON of the request's body as the agent sent it. */
  requestBody: 'agentlightning.request_body',
  /** JSON of the answer's body as the agent received it, without token ids and log-probabilities. */
  responseBody: 'agentlightning.response_body',
} as const;

/** Names that the readers of the Python Agent Lightning look for, beside those above. */
export const pythonReaderAttributes = {
  /** The agent that made a call. */
  agentName: 'agent.name',
  /**
   * JSON list of `{ token, logprob }`, one for each response token of the first choice. A third of a record, if it were kept:
   * stores make it for their readers from the log-probabilities and tokens, see `spanToReaders`.
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
  modelCallAttributes.isTrainable,
  modelCallAttributes.untrainableReason,
  pythonReaderAttributes.logprobs,
  agentLightningAttributes.eventType,
  agentLightningAttributes.eventData,
]);

/**
 * Whether only the recorder of model calls may set an attribute: the gateway, or the fetch adapter in the trainer's
 * process. Spans with these attributes are trained on, so an agent must not record them.
 */
export function isReservedAttribute(name: string): boolean {
  return reservedNames.has(name);
}

/** OpenTelemetry's names for generative AI, as far as we write or read them. */
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
