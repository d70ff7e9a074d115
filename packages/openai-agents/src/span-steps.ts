import { type Attributes, type Clock, currentRollout, type RolloutContext } from '@agentlightning/core';
import { type AgentStepEnd, type AgentStepKind, AgentSteps, type TracePosition } from '@agentlightning/core/adapter';
import type { FrameworkSpan, FrameworkTrace, SpanData } from './framework.ts';
import { HttpExchange } from './http-exchange.ts';
import type { SpanListener } from './listen-to-provider.ts';
import { dataAttributes, messageOf, modelCallEnd, traceAttributes } from './step-attributes.ts';
import { ToolCallIds } from './tool-call-ids.ts';

/** A framework span in progress within a rollout. */
interface OpenSpan {
  readonly span: FrameworkSpan;
  readonly kind: AgentStepKind;
  /** The HTTP exchange of a model call; null for other spans. */
  readonly exchange: HttpExchange | null;
  /** The span of the current agent. */
  readonly agentId: string | null;
  readonly trace: FrameworkTrace | null;
  /** The rollout context at the start of the span. */
  readonly context: RolloutContext | null;
  hasBegun: boolean;
  /** Whether the framework has ended the span. */
  hasEnded: boolean;
}

const kinds: Readonly<Record<string, AgentStepKind>> = {
  agent: 'agent',
  generation: 'model-call',
  response: 'model-call',
  transcription: 'model-call',
  speech: 'model-call',
  function: 'tool-call',
  handoff: 'hand-off',
  guardrail: 'guardrail',
};

/** Kinds whose name the framework sets after the start. */
const lateNamedKinds: readonly AgentStepKind[] = ['model-call', 'hand-off'];

/** Abort messages of clients and the framework. */
const abortPattern = /\bAbortError\b|\bwas aborted\b/i;

/** Options of {@link SpanSteps}. */
export interface SpanStepsOptions {
  readonly clock?: Clock | undefined;
  /** Called for every trace and span of a rollout. */
  readonly onItem: (item: FrameworkTrace | FrameworkSpan) => void;
}

/**
 * Maps the framework's spans to agent steps: agent, turn, model call, tool call, hand-off, guardrail.
 *
 * The framework's `task` spans are hidden. A model call starts when its request is sent, because its model is unknown
 * earlier.
 */
export class SpanSteps implements SpanListener {
  readonly #steps: AgentSteps;
  readonly #open: Map<string, OpenSpan> = new Map();
  readonly #toolCalls: ToolCallIds = new ToolCallIds();
  readonly #onItem: SpanStepsOptions['onItem'];

  constructor({ clock, onItem }: SpanStepsOptions) {
    this.#steps = new AgentSteps({ framework: 'openai-agents', ...(clock === undefined ? {} : { clock }) });
    this.#onItem = onItem;
  }

  traceCreated(trace: FrameworkTrace): void {
    this.#onItem(trace);
  }

  isOpen(spanId: string): boolean {
    return this.#open.has(spanId);
  }

  spanStarted(span: FrameworkSpan, trace: FrameworkTrace | null): void {
    const kind = kinds[span.spanData.type] ?? 'step';
    const around = span.parentId === null ? undefined : this.#open.get(span.parentId);
    const agentId = kind === 'agent' ? span.spanId : (around?.agentId ?? null);
    const exchange = kind === 'model-call' ? new HttpExchange() : null;
    this.#onItem(span);
    // A resumed run continues in a copy of its trace, which the framework creates.
    if (trace !== null && span.parentId === null) this.#onItem(trace);
    const context = currentRollout();
    const open: OpenSpan = { span, kind, exchange, agentId, trace, context, hasBegun: false, hasEnded: false };
    this.#open.set(span.spanId, open);
    if (!lateNamedKinds.includes(kind)) this.#begin(open);
  }

  spanEnded(span: FrameworkSpan): void {
    const open = this.#open.get(span.spanId);
    if (open === undefined) return;
    this.#begin(open);
    const end = this.#endOf(open, messageOf(span.error));
    try {
      if (open.exchange === null) this.#steps.end(span.spanId, { attributes: this.#attributesOf(open), ...end });
      else this.#endModelCall(open, open.exchange);
    } finally {
      // The step must end even if its data cannot be read.
      this.#steps.end(span.spanId, end);
      this.#remove(open);
    }
  }

  /** The HTTP exchange of a span; null if the span is not a model call. */
  exchangeOf(spanId: string): HttpExchange | null {
    return this.#open.get(spanId)?.exchange ?? null;
  }

  /**
   * The trace position of a call made within a span, whose step starts now if it has not started yet; null if the span is
   * unknown, or if a closer parent such as `withAgent` encloses the call.
   */
  positionOf(spanId: string): TracePosition | null {
    const open = this.#open.get(spanId);
    if (open === undefined) return null;
    this.#begin(open);
    const isWrapped = open.exchange === null && open.context !== currentRollout();
    return isWrapped ? null : this.#steps.positionOf(spanId);
  }

  #begin(open: OpenSpan): void {
    if (open.hasBegun) return;
    open.hasBegun = true;
    const { span, kind, exchange, trace } = open;
    const around = span.parentId === null ? undefined : this.#open.get(span.parentId);
    if (around !== undefined) this.#begin(around);
    this.#steps.start({
      id: span.spanId,
      parentId: span.parentId,
      kind,
      name: nameOf(span.spanData, exchange),
      isHidden: span.spanData.type === 'task',
      attributes: kind === 'agent' && trace !== null ? traceAttributes(trace) : {},
      gathered: () => {
        this.#remove(open);
        return exchange === null || open.hasEnded ? {} : modelCallEnd(span.spanData, exchange).attributes;
      },
    });
  }

  #endModelCall(open: OpenSpan, exchange: HttpExchange): void {
    const { span, agentId } = open;
    const { attributes, response, isPartial, failure } = modelCallEnd(span.spanData, exchange);
    open.hasEnded = true;
    if (agentId !== null && response !== null) this.#toolCalls.add(agentId, response);
    const end = this.#endOf(open, messageOf(span.error) ?? failure);
    this.#steps.end(span.spanId, { attributes, isAborted: isPartial, ...end });
  }

  /** The end of a span: success, error, or cancellation, by the state of the rollout and the error. */
  #endOf({ span, kind }: OpenSpan, error: string | null): AgentStepEnd {
    if (error === null) return {};
    const isCancelled = this.#steps.rolloutOf(span.spanId)?.signal.aborted ?? false;
    // An abort within a tool is the tool's own error.
    return { error, isAborted: isCancelled || (kind !== 'tool-call' && abortPattern.test(error)) };
  }

  #attributesOf(open: OpenSpan): Attributes {
    const { kind, agentId } = open;
    const { spanData } = open.span;
    const attributes = dataAttributes(spanData);
    if (kind !== 'tool-call' || agentId === null) return attributes;
    const equal = [...this.#open.values()].filter(({ agentId: other, span: { spanData: data } }) => {
      return other === agentId && data.name === spanData.name && data.input === spanData.input;
    });
    return { ...attributes, ...this.#toolCalls.take(agentId, spanData, equal.indexOf(open)) };
  }

  #remove({ span, kind }: OpenSpan): void {
    this.#open.delete(span.spanId);
    if (kind === 'agent') this.#toolCalls.forget(span.spanId);
  }
}

function nameOf(data: SpanData, exchange: HttpExchange | null): string {
  if (exchange !== null) return textOf(exchange.request?.model) ?? textOf(data.model) ?? 'unknown';
  switch (data.type) {
    case 'turn':
      return `turn ${String(data.turn)}`;
    case 'handoff':
      return textOf(data.to_agent) ?? 'unknown';
    case 'mcp_tools':
      return `list tools of ${textOf(data.server) ?? 'an MCP server'}`;
    default:
      return textOf(data.name) ?? data.type;
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
