import type { Clock } from '../base/clock.ts';
import { errorMessage } from '../base/error-message.ts';
import { newSpanId } from '../base/id.ts';
import { agentAttributes } from '../spans/agent-path.ts';
import { toAttributeValue } from '../spans/attribute-value.ts';
import { exceptionAttributes } from '../spans/exception-attributes.ts';
import type { Attributes, AttributeValue, SpanEvent, SpanInput, SpanStatus } from '../spans/span.ts';
import { isReservedAttribute } from '../spans/span-attributes.ts';
import { agentPathOf } from './agent-path.ts';
import type { RolloutContext } from './rollout-context.ts';
import type { ActiveSpan, StartSpanOptions } from './tracer.ts';

/** Event on a span whose creator set a reserved attribute, which is not recorded. */
const refusedAttributeEvent = 'agentlightning.attribute_refused';

/** Context, name and clock of a new span. */
export interface SpanOrigin {
  readonly name: string;
  readonly context: RolloutContext;
  readonly clock: Clock;
}

/** A span of a rollout while it is being recorded. No method throws: tracing must not affect the agent. */
export class RecordedSpan implements ActiveSpan {
  readonly traceId: string;
  readonly spanId: string = newSpanId();
  readonly #origin: SpanOrigin;
  readonly #parentId: string | null;
  readonly #startTimeMs: number;
  readonly #attributes: Record<string, AttributeValue> = {};
  readonly #events: SpanEvent[] = [];
  #status: SpanStatus = { code: 'UNSET', message: null };
  readonly #beforeEnd: ((span: ActiveSpan) => void) | undefined;
  #isEnding = false;
  #isEnded = false;

  constructor(origin: SpanOrigin, options: StartSpanOptions) {
    this.#origin = origin;
    this.traceId = origin.context.traceId;
    this.#parentId = options.parentSpanId === undefined ? origin.context.parentSpanId : options.parentSpanId;
    this.#startTimeMs = options.startTimeMs ?? origin.clock.now();
    this.#beforeEnd = options.beforeEnd;
    if (origin.context.agentName !== null) this.setAttributes(agentAttributes(agentPathOf(origin.context)));
    this.setAttributes(options.attributes ?? {});
  }

  setAttribute(name: string, value: AttributeValue): void {
    this.#set(name, value);
  }

  setAttributes(attributes: Attributes): void {
    for (const name of Object.keys(attributes)) this.#set(name, attributes[name]);
  }

  addEvent(name: string, attributes: Attributes = {}): void {
    if (this.#isEnded) return;
    this.#events.push({ name, timeMs: this.#origin.clock.now(), attributes: cleanAttributes(attributes) });
  }

  setStatus(status: SpanStatus): void {
    if (!this.#isEnded) this.#status = status;
  }

  recordException(error: unknown): void {
    this.addEvent('exception', exceptionAttributes(error));
    this.setStatus({ code: 'ERROR', message: errorMessage(error) });
  }

  end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    try {
      this.#beforeEnd?.(this);
    } catch {
      // Its errors must not reach the agent; the span is recorded without its attributes.
    }
    this.#isEnded = true;
    try {
      this.#origin.context.sink.append(this.#toInput());
    } catch {
      // Errors of the sink must not reach the agent; the span is lost.
    }
  }

  #set(name: string, value: AttributeValue | undefined): void {
    if (this.#isEnded) return;
    if (isReservedAttribute(name)) {
      this.addEvent(refusedAttributeEvent, { name });
      return;
    }
    const clean = toAttributeValue(value);
    if (clean === null) delete this.#attributes[name];
    else this.#attributes[name] = clean;
  }

  #toInput(): SpanInput {
    const { context, name, clock } = this.#origin;
    return {
      rolloutId: context.rolloutId,
      attemptId: context.attemptId,
      traceId: this.traceId,
      spanId: this.spanId,
      parentId: this.#parentId,
      name,
      status: this.#status,
      attributes: this.#attributes,
      events: this.#events,
      links: [],
      startTimeMs: this.#startTimeMs,
      endTimeMs: Math.max(this.#startTimeMs, clock.now()),
      resource: { attributes: {}, schemaUrl: '' },
    };
  }
}

function cleanAttributes(attributes: Attributes): Attributes {
  const clean: Record<string, AttributeValue> = {};
  for (const [name, value] of Object.entries(attributes)) {
    const known = toAttributeValue(value);
    if (known !== null) clean[name] = known;
  }
  return clean;
}
