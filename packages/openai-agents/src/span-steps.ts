import { type Attributes, type Clock, currentRollout, type RolloutContext } from '@agentlightning/core';
import { type AgentStepEnd, type AgentStepKind, AgentSteps, type CallPlace } from '@agentlightning/core/adapter';
import type { FrameworkSpan, FrameworkTrace, SpanData } from './framework.ts';
import { HttpExchange } from './http-exchange.ts';
import type { SpanListener } from './recorded-provider.ts';
import { dataAttributes, messageOf, modelCallEnd, traceAttributes } from './step-attributes.ts';
import { ToolCallIds } from './tool-call-ids.ts';

/** A span of the framework that is under way in a rollout. */
interface OpenSpan {
  readonly span: FrameworkSpan;
  readonly kind: AgentStepKind;
  /** What went over the wire, for a model call. */
  readonly exchange: HttpExchange | null;
  /** The span of the agent at work. */
  readonly agentId: string | null;
  readonly trace: FrameworkTrace | null;
  /** What was running where it began. */
  readonly context: RolloutContext | null;
  hasBegun: boolean;
  /** Whether the framework has told of its end. */
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

/** Kinds whose name the framework tells only after they began. */
const namedLater: readonly AgentStepKind[] = ['model-call', 'hand-off'];

/** An abort in the words of clients and the framework. */
const abortWords = /\bAbortError\b|\bwas aborted\b/i;

/** What {@link SpanSteps} is told to do. */
export interface SpanStepsOptions {
  readonly clock?: Clock | undefined;
  /** Told of every trace and every span of a rollout. */
  readonly onItem: (item: FrameworkTrace | FrameworkSpan) => void;
}

/**
 * The framework's spans as the steps of agents: agent, turn, model call, tool call, hand-off, guardrail.
 *
 * The framework's `task` is only glue around agents. A model call is recorded from the moment it is sent, when its model
 * is known.
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
    // A run that is resumed goes on in a trace that the framework copied by itself.
    if (trace !== null && span.parentId === null) this.#onItem(trace);
    const context = currentRollout();
    const open: OpenSpan = { span, kind, exchange, agentId, trace, context, hasBegun: false, hasEnded: false };
    this.#open.set(span.spanId, open);
    if (!namedLater.includes(kind)) this.#begin(open);
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
      // However its data could be read, a step ends.
      this.#steps.end(span.spanId, end);
      this.#forget(open);
    }
  }

  /** Where to note what goes over the wire in a span; null when it is no model call. */
  exchangeOf(spanId: string): HttpExchange | null {
    return this.#open.get(spanId)?.exchange ?? null;
  }

  /**
   * Where in the trace a call belongs that is made in a span, whose step begins now if it has not begun; null when the span
   * is not known, or when something else is around the call there, such as `withAgent`, that says more than a tool.
   */
  placeOf(spanId: string): CallPlace | null {
    const open = this.#open.get(spanId);
    if (open === undefined) return null;
    this.#begin(open);
    const isWrapped = open.exchange === null && open.context !== currentRollout();
    return isWrapped ? null : this.#steps.placeOf(spanId);
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
        this.#forget(open);
        return exchange === null || open.hasEnded ? {} : modelCallEnd(span.spanData, exchange).attributes;
      },
    });
  }

  #endModelCall(open: OpenSpan, exchange: HttpExchange): void {
    const { span, agentId } = open;
    const { attributes, answer, isPartial, failure } = modelCallEnd(span.spanData, exchange);
    open.hasEnded = true;
    if (agentId !== null && answer !== null) this.#toolCalls.add(agentId, answer);
    const end = this.#endOf(open, messageOf(span.error) ?? failure);
    this.#steps.end(span.spanId, { attributes, isAborted: isPartial, ...end });
  }

  /** How a span ended: with an error or none, or only stopped, as far as the rollout and the error tell. */
  #endOf({ span, kind }: OpenSpan, error: string | null): AgentStepEnd {
    if (error === null) return {};
    const isCancelled = this.#steps.rolloutOf(span.spanId)?.signal.aborted ?? false;
    // What a tool says of something that was aborted is its own business.
    return { error, isAborted: isCancelled || (kind !== 'tool-call' && abortWords.test(error)) };
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

  #forget({ span, kind }: OpenSpan): void {
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
