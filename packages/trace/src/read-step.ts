import type { Attributes, AttributeValue, Span } from '@agentlightning/core';
import {
  agentPathFromText,
  type CalledModel,
  calledModel,
  genAiAttributes,
  modelCallAttributes,
  newestPolicyVersion,
  pythonReaderAttributes,
} from '@agentlightning/core/internal';
import { agentLightningAttributes, modelCallFromSpan, rewardFromSpan, spanNames } from '@agentlightning/core/spans';
import { traceMessages } from './step-messages.ts';
import type { TraceStep, TraceStepKind, TraceStepOutcome, TraceTokens } from './trace-step.ts';

/** Source of a step. */
export interface StepSource {
  readonly span: Span;
  /** The gateway's span of the same model call, with its tokens; null when it is missing or is `span` already. */
  readonly captured: Span | null;
  readonly children: readonly TraceStep[];
}

/** Reads a step from a span. A model call that an adapter and the gateway both recorded has the attributes of both. */
export function readStep({ span, captured, children }: StepSource): TraceStep {
  const attributes: Attributes = { ...captured?.attributes, ...span.attributes };
  const rewards = rewardFromSpan(span)?.rewards ?? [];
  const kind = kindOf(span, rewards.length > 0);
  const model = calledModel(captured?.attributes ?? span.attributes, span.attributes);
  return {
    spanId: span.spanId,
    sequenceId: span.sequenceId,
    kind,
    title: titleOf(span, kind, model),
    requestedModel: kind === 'model-call' ? model.requested : null,
    agentPath: agentPathOf(attributes),
    startTimeMs: span.startTimeMs,
    endTimeMs: span.endTimeMs,
    outcome: outcomeOf(span, captured),
    error: span.status.code === 'ERROR' ? (span.status.message ?? 'error without a message') : null,
    stackTrace: stackTraceOf(span),
    inputMessages: traceMessages(attributes[genAiAttributes.inputMessages]),
    outputMessages: traceMessages(attributes[genAiAttributes.outputMessages]),
    ...toolParts(kind, attributes),
    toolCallId: text(attributes[genAiAttributes.toolCallId]),
    tokens: kind === 'model-call' ? tokensOf(attributes, captured ?? span) : null,
    rewards,
    attributes,
    children,
  };
}

const kinds: ReadonlySet<string> = new Set<TraceStepKind>([
  'agent',
  'step',
  'model-call',
  'tool-call',
  'hand-off',
  'guardrail',
  'embedding',
  'retrieval',
]);

const kindsByOperation: Readonly<Record<string, TraceStepKind>> = {
  chat: 'model-call',
  text_completion: 'model-call',
  generate_content: 'model-call',
  embeddings: 'embedding',
  invoke_agent: 'agent',
  execute_tool: 'tool-call',
  retrieval: 'retrieval',
};

const kindsByName: Readonly<Record<string, TraceStepKind>> = {
  [spanNames.rollout]: 'rollout',
  [spanNames.annotation]: 'annotation',
  [spanNames.message]: 'message',
  [spanNames.object]: 'annotation',
  [spanNames.exception]: 'exception',
  [spanNames.operation]: 'operation',
  [spanNames.modelCall]: 'model-call',
};

function kindOf({ name, attributes }: Span, hasRewards: boolean): TraceStepKind {
  if (hasRewards) return 'reward';
  const recorded = attributes[agentLightningAttributes.stepKind];
  if (typeof recorded === 'string' && isKind(recorded)) return recorded;
  const operation = kindsByOperation[String(attributes[genAiAttributes.operationName] ?? '')];
  return operation ?? kindsByName[name] ?? 'step';
}

function isKind(text: string): text is TraceStepKind {
  return kinds.has(text);
}

function titleOf({ name, attributes }: Span, kind: TraceStepKind, model: CalledModel): string {
  const titles: Readonly<Partial<Record<TraceStepKind, AttributeValue | undefined>>> = {
    agent: attributes[genAiAttributes.agentName],
    'model-call': model.name ?? undefined,
    embedding: attributes[genAiAttributes.requestModel],
    'tool-call': attributes[genAiAttributes.toolName],
    operation: attributes[agentLightningAttributes.operationName],
    rollout: 'rollout',
    reward: 'reward',
    message: attributes[agentLightningAttributes.messageBody],
    annotation: 'annotation',
    exception: 'exception',
  };
  return text(titles[kind]) ?? name.replace(/^(hand-off|guardrail|retrieval) /, '');
}

function agentPathOf(attributes: Attributes): readonly string[] {
  const path = text(attributes[agentLightningAttributes.agentPath]);
  if (path !== null) return agentPathFromText(path);
  const name = text(attributes[genAiAttributes.agentName]) ?? text(attributes[pythonReaderAttributes.agentName]);
  return name === null ? [] : [name];
}

function outcomeOf({ status, attributes }: Span, captured: Span | null): TraceStepOutcome {
  if (attributes[agentLightningAttributes.abandoned] === true) return 'abandoned';
  if (status.code === 'ERROR') return 'error';
  const isPartial = [attributes, captured?.attributes].some((some) => some?.[modelCallAttributes.isPartial] === true);
  return isPartial ? 'partial' : 'ok';
}

/** Of an exception span, or of the last `exception` event of any other. */
function stackTraceOf({ attributes, events }: Span): string | null {
  const event = events.findLast(({ name }) => name === 'exception');
  return text((event?.attributes ?? attributes)['exception.stacktrace']);
}

function toolParts(kind: TraceStepKind, attributes: Attributes): Pick<TraceStep, 'toolArguments' | 'toolResult'> {
  if (kind === 'tool-call') {
    return {
      toolArguments: text(attributes[genAiAttributes.toolCallArguments]),
      toolResult: text(attributes[genAiAttributes.toolCallResult]),
    };
  }
  if (kind !== 'operation') return { toolArguments: null, toolResult: null };
  return {
    toolArguments: under(attributes, agentLightningAttributes.operationInput, '.args'),
    toolResult: under(attributes, agentLightningAttributes.operationOutput, ''),
  };
}

/** Flattened attributes with a prefix, as `name: value`; null without any. */
function under(attributes: Attributes, prefix: string, inner: string): string | null {
  const parts = Object.entries(attributes)
    .filter(([name]) => name === prefix || name.startsWith(`${prefix}.`))
    .map(([name, value]) => {
      const rest = name.slice(prefix.length + inner.length).replace(/^\./, '');
      return rest === '' || /^\d+$/.test(rest) ? String(value) : `${rest}: ${String(value)}`;
    });
  return parts.length === 0 ? null : parts.join(', ');
}

function tokensOf(attributes: Attributes, captured: Span): TraceTokens {
  const policyVersion = number(attributes[modelCallAttributes.policyVersion]);
  const call = modelCallFromSpan(captured);
  const isTrainable = captured.attributes[modelCallAttributes.isTrainable];
  return {
    prompt:
      number(attributes[genAiAttributes.usageInputTokens]) ?? length(attributes[modelCallAttributes.promptTokenIds]),
    response:
      number(attributes[genAiAttributes.usageOutputTokens]) ?? length(attributes[modelCallAttributes.responseTokenIds]),
    policyVersion,
    newestPolicyVersion: call === null ? policyVersion : newestPolicyVersion(call),
    isTrainable: typeof isTrainable === 'boolean' ? isTrainable : null,
    untrainableReason: text(captured.attributes[modelCallAttributes.untrainableReason]),
  };
}

function text(value: AttributeValue | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function number(value: AttributeValue | undefined): number | null {
  return typeof value === 'number' ? value : null;
}

function length(value: AttributeValue | undefined): number | null {
  return Array.isArray(value) ? value.length : null;
}
