import type { JsonObject, JsonValue } from '../base/json.ts';
import { isObject, objectsOf, parseObject, textOf } from '../base/json-access.ts';
import { uncapturedModelCall } from './foreign-model-call.ts';
import { joinModelCalls } from './join-model-calls.ts';
import type { Attributes, AttributeValue, Span } from './span.ts';
import { agentLightningAttributes, modelCallAttributes, productionAttributes } from './span-attributes.ts';

/** What a deployment records of a trace besides its spans. */
export interface ProductionTrace {
  /** The version of the deployment that served it, such as `run-1a2b@30`; null when unknown. */
  readonly version: string | null;
  /** The trial of a candidate that the trace was a part of, with either version; null for none. */
  readonly trial: string | null;
  /** The candidate that the request was for, where it was away; null otherwise. */
  readonly fallbackFrom: string | null;
  /** The user, as the application names them; null when unknown. */
  readonly user: string | null;
  /** The conversation or session; null when unknown. */
  readonly conversation: string | null;
}

/** The parts of a trace in some of its spans; null or absent where these spans do not have them. */
export interface ProductionFacts extends ProductionTrace {
  /** The input of the agent. */
  readonly input: JsonValue | undefined;
  /** Whether the root span ended with an error; null without the root span. */
  readonly isFailed: boolean | null;
}

/** Attributes of the user and the conversation, by the recorders that have them. The first one counts. */
const userNames = [
  productionAttributes.user,
  'enduser.id',
  'langfuse.user.id',
  'traceloop.association.properties.user_id',
  'ai.telemetry.metadata.userId',
  'ai.settings.context.userId',
  'mastra.metadata.userId',
];
const conversationNames = [
  productionAttributes.conversation,
  'session.id',
  'langfuse.session.id',
  'traceloop.association.properties.session_id',
  'traceloop.association.properties.conversation_id',
  'ai.telemetry.metadata.conversationId',
  'ai.telemetry.metadata.sessionId',
  'ai.telemetry.metadata.threadId',
  'ai.settings.context.conversationId',
  'ai.settings.context.sessionId',
  'ai.settings.context.threadId',
  'mastra.metadata.threadId',
];
/** Attributes of the root span that hold the input of the agent. */
const inputNames = [
  agentLightningAttributes.operationInput,
  'input.value',
  'langfuse.trace.input',
  'langfuse.observation.input',
  'traceloop.entity.input',
  'mastra.span.input',
];

/**
 * Reads what a deployment records of a trace: from the root span, then from the other spans and their resource.
 *
 * @param spans - spans of one trace, in any order; at least one
 */
export function productionFacts(spans: readonly Span[]): ProductionFacts {
  const root = spans.find(({ parentId }) => parentId === null);
  const ordered = root === undefined ? spans : [root, ...spans.filter((span) => span !== root)];
  const sources = [
    ...ordered.map(({ attributes }) => attributes),
    ...ordered.map(({ resource }) => resource.attributes),
  ];
  return {
    version: firstText(sources, [productionAttributes.version]),
    trial: firstText(sources, [productionAttributes.trial]),
    fallbackFrom: firstText(sources, [productionAttributes.fallbackFrom]),
    user: firstText(sources, userNames),
    conversation: firstText(sources, conversationNames),
    input: (root === undefined || isModelCall(root) ? undefined : inputOf(root.attributes)) ?? inputOfCalls(spans),
    isFailed: root === undefined ? null : root.status.code === 'ERROR',
  };
}

/** The metadata of a rollout of a deployment. */
export function productionMetadata(trace: ProductionTrace): JsonObject {
  const { version, trial, fallbackFrom, user, conversation } = trace;
  return {
    [productionAttributes.version]: version,
    ...(trial === null ? {} : { [productionAttributes.trial]: trial }),
    ...(fallbackFrom === null ? {} : { [productionAttributes.fallbackFrom]: fallbackFrom }),
    ...(user === null ? {} : { [productionAttributes.user]: user }),
    ...(conversation === null ? {} : { [productionAttributes.conversation]: conversation }),
  };
}

/** The part of {@link productionMetadata}; null for what it does not have. */
export function readProductionMetadata(metadata: JsonObject | null): ProductionTrace {
  return {
    version: textOf(metadata?.[productionAttributes.version]),
    trial: textOf(metadata?.[productionAttributes.trial]),
    fallbackFrom: textOf(metadata?.[productionAttributes.fallbackFrom]),
    user: textOf(metadata?.[productionAttributes.user]),
    conversation: textOf(metadata?.[productionAttributes.conversation]),
  };
}

function firstText(sources: readonly Attributes[], names: readonly string[]): string | null {
  for (const name of names) {
    for (const attributes of sources) {
      const value = attributes[name];
      if ((typeof value === 'string' && value !== '') || typeof value === 'number') return String(value);
    }
  }
  return null;
}

/** The input of a model call is its whole request, not what the agent was asked. */
function isModelCall(span: Span): boolean {
  return joinModelCalls([span]).length > 0;
}

function inputOf(attributes: Attributes): JsonValue | undefined {
  const name = inputNames.find((each) => attributes[each] !== undefined);
  return name === undefined ? undefined : jsonOf(attributes[name]);
}

/** The last message of the user in the request of the first model call. */
function inputOfCalls(spans: readonly Span[]): JsonValue | undefined {
  const [first] = joinModelCalls(spans);
  const record = first?.captured ?? (first?.step ? (uncapturedModelCall(first.step) ?? first.step) : null);
  const body = record?.attributes[modelCallAttributes.requestBody];
  const request = parseObject(textOf(body) ?? '');
  const written = request?.messages ?? request?.input;
  if (typeof written === 'string') return written;
  const message = objectsOf(written).findLast(({ role }) => role === 'user');
  const content = message?.content;
  return isObject(content) || Array.isArray(content) || typeof content === 'string' ? content : undefined;
}

function jsonOf(value: AttributeValue | undefined): JsonValue | undefined {
  if (typeof value !== 'string') return value === undefined ? undefined : (value as JsonValue);
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
