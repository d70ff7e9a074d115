import {
  type Attributes,
  type AttributeValue,
  currentRollout,
  type RolloutContext,
  type SpanInput,
} from '@agentlightning/core';
import { genAiAttributes, toAttributeValue } from '@agentlightning/core/internal';
import { isReservedAttribute } from '@agentlightning/core/protocol';
import { agentLightningAttributes } from '@agentlightning/core/spans';
import { type OtelSpan, type OtelTime, otelParentId } from './otel-span.ts';

/** Options of {@link RolloutSpanProcessor}. */
export interface RolloutSpanProcessorOptions {
  /**
   * Selects spans by their name and attributes at their end. Exclude here what an adapter of Agent Lightning records too.
   *
   * @default all spans
   */
  readonly shouldRecord?: (span: OtelSpan) => boolean;
}

/** A span of a rollout that has not ended. */
interface StartedSpan {
  readonly rollout: RolloutContext;
  readonly parentId: string | null;
}

/** `gen_ai.operation.name` of model calls. */
const modelCalls: ReadonlySet<unknown> = new Set(['chat', 'text_completion', 'generate_content']);

/**
 * Records the spans of an existing OpenTelemetry set-up into the rollout that they start in. Outside of rollouts it does
 * nothing. It fits the SDKs 1, 2 and 3, beside other processors.
 *
 * Model calls are joined with the record of the gateway on `gen_ai.response.id`.
 *
 * @example
 * ```ts
 * const provider = new NodeTracerProvider({ spanProcessors: [new RolloutSpanProcessor()] });
 * provider.register();
 * ```
 */
export class RolloutSpanProcessor {
  readonly #shouldRecord: (span: OtelSpan) => boolean;
  readonly #started = new WeakMap<object, StartedSpan>();
  /** Ids of the recorded spans of an attempt, by its sink. */
  readonly #recorded = new WeakMap<object, Set<string>>();

  constructor({ shouldRecord = () => true }: RolloutSpanProcessorOptions = {}) {
    this.#shouldRecord = shouldRecord;
  }

  /** Called by the SDK when a span starts. */
  onStart(span: { spanContext(): { readonly spanId: string } }): void {
    const rollout = currentRollout();
    if (rollout === null) return;
    const recorded = this.#recorded.get(rollout.sink) ?? new Set();
    this.#recorded.set(rollout.sink, recorded);
    const parentId = otelParentId(span);
    // A parent from outside of the rollout, such as the request of a server, is not in its trace.
    const isWithin = parentId !== null && recorded.has(parentId);
    this.#started.set(span, { rollout, parentId: isWithin ? parentId : rollout.parentSpanId });
    recorded.add(span.spanContext().spanId);
  }

  /** Called by the SDK when a span ends. */
  onEnd(span: OtelSpan): void {
    const started = this.#started.get(span);
    if (started === undefined || !this.#shouldRecord(span)) return;
    started.rollout.sink.append(toInput(span, started));
  }

  /** Nothing is held back: the runner stores the spans of an attempt before it ends. */
  async forceFlush(): Promise<void> {}

  /** See `forceFlush`. */
  async shutdown(): Promise<void> {}
}

function toInput(span: OtelSpan, { rollout, parentId }: StartedSpan): SpanInput {
  const { code, message } = span.status;
  return {
    rolloutId: rollout.rolloutId,
    attemptId: rollout.attemptId,
    traceId: rollout.traceId,
    spanId: span.spanContext().spanId,
    parentId,
    name: span.name,
    status: { code: code === 2 ? 'ERROR' : code === 1 ? 'OK' : 'UNSET', message: message ?? null },
    attributes: { ...attributesOf(span.attributes), ...stepKind(span) },
    events: span.events.map((event) => ({
      name: event.name,
      timeMs: msOf(event.time),
      attributes: attributesOf(event.attributes ?? {}),
    })),
    links: span.links.map(({ context, attributes = {} }) => ({
      traceId: context.traceId,
      spanId: context.spanId,
      attributes: attributesOf(attributes),
    })),
    startTimeMs: msOf(span.startTime),
    endTimeMs: msOf(span.endTime),
    resource: { attributes: attributesOf(span.resource.attributes), schemaUrl: '' },
  };
}

function stepKind({ attributes }: OtelSpan): Attributes {
  const { stepKind: name, framework } = agentLightningAttributes;
  const kind = modelCalls.has(attributes[genAiAttributes.operationName]) ? { [name]: 'model-call' } : {};
  return { [framework]: 'opentelemetry', ...kind };
}

/** Attributes that only the gateway may record are training data, and are omitted. */
function attributesOf(attributes: Readonly<Record<string, unknown>>): Attributes {
  const known: Record<string, AttributeValue> = {};
  for (const [name, value] of Object.entries(attributes)) {
    const clean = isReservedAttribute(name) ? null : toAttributeValue(value);
    if (clean !== null) known[name] = clean;
  }
  return known;
}

function msOf([seconds, nanos]: OtelTime): number {
  return seconds * 1000 + nanos / 1e6;
}
