import type { Attributes, Span } from '@agentlightning/core';
import { genAiAttributes, modelCallAttributes, pythonReaderAttributes } from '@agentlightning/core/internal';
import { agentLightningAttributes } from '@agentlightning/core/spans';

/** The part of a trace to export. */
export interface ExportedContent {
  /** Messages, tool arguments and results, inputs and outputs of steps. @default true */
  readonly content?: boolean;
  /** Token ids, log-probabilities and policy versions of tokens, and the raw bodies of model calls. They are most of a trace. @default false */
  readonly tokens?: boolean;
}

const tokenAttributes: ReadonlySet<string> = new Set([
  modelCallAttributes.promptTokenIds,
  modelCallAttributes.responseTokenIds,
  modelCallAttributes.responseLogprobs,
  modelCallAttributes.responsePolicyVersions,
  modelCallAttributes.responseTokens,
  modelCallAttributes.choices,
  modelCallAttributes.requestBody,
  modelCallAttributes.responseBody,
  pythonReaderAttributes.logprobs,
]);

const contentAttributes: ReadonlySet<string> = new Set([
  genAiAttributes.inputMessages,
  genAiAttributes.outputMessages,
  genAiAttributes.toolDefinitions,
  genAiAttributes.toolCallArguments,
  genAiAttributes.toolCallResult,
  modelCallAttributes.requestBody,
  modelCallAttributes.responseBody,
  agentLightningAttributes.messageBody,
  agentLightningAttributes.objectLiteral,
  agentLightningAttributes.objectJson,
  agentLightningAttributes.eventData,
]);

/** Prefixes of attributes with a flattened input or output. */
const contentPrefixes: readonly string[] = [
  agentLightningAttributes.operationInput,
  agentLightningAttributes.operationOutput,
];

/** The attributes of a span for other tools, with its rollout as the conversation. */
export function exportAttributes(span: Span, { content = true, tokens = false }: ExportedContent): Attributes {
  const isKept = (name: string): boolean =>
    (tokens || !tokenAttributes.has(name)) &&
    (content || !(contentAttributes.has(name) || contentPrefixes.some((prefix) => name.startsWith(prefix))));
  return {
    ...Object.fromEntries(Object.entries(span.attributes).filter(([name]) => isKept(name))),
    ...providerOf(span),
    'gen_ai.conversation.id': span.rolloutId,
    [agentLightningAttributes.rolloutId]: span.rolloutId,
    [agentLightningAttributes.attemptId]: span.attemptId,
    [agentLightningAttributes.spanSequenceId]: span.sequenceId,
  };
}

/** The provider that the conventions require of a model call: the vendor of the API that the agent used. */
function providerOf({ attributes }: Span): Attributes {
  if (attributes[genAiAttributes.requestModel] === undefined) return {};
  if (attributes[genAiAttributes.providerName] !== undefined) return {};
  return {
    [genAiAttributes.providerName]: attributes[modelCallAttributes.api] === 'messages' ? 'anthropic' : 'openai',
  };
}
