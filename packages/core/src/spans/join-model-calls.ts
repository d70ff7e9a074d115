import { foreignModelCall } from './foreign-model-call.ts';
import { withMastraConversations } from './gen-ai-call.ts';
import type { Span } from './span.ts';
import { agentLightningAttributes, genAiAttributes, modelCallAttributes } from './span-attributes.ts';

/** One model call with its available records: at least one is present. */
export interface JoinedModelCall {
  /** The record of the gateway or of a recording `fetch`, with tokens and bodies; null when absent. */
  readonly captured: Span | null;
  /** The step of a framework adapter, with agent and trace position; null when absent. */
  readonly step: Span | null;
}

/**
 * Joins the records of each model call: the gateway's capture and the adapter's step.
 *
 * A capture within an adapter's step belongs to it. Others are joined on the response id, in the order of sequence ids
 * when several responses share an id, or with the span of another recorder, such as OpenInference, during which they
 * happened. Other spans are omitted.
 *
 * @returns in order of the capture's sequence id, or of the step's without a capture
 *
 * @example
 * ```ts
 * for (const { captured, step } of joinModelCalls(spans)) console.log(captured?.spanId, step?.attributes['agent.name']);
 * ```
 */
export function joinModelCalls(spans: readonly Span[]): readonly JoinedModelCall[] {
  const ordered = withMastraConversations(spans)
    .map((span) => foreignModelCall(span) ?? span)
    .sort((one, other) => one.sequenceId - other.sequenceId);
  const captures = ordered.filter(isCapture);
  const steps = new UnjoinedSteps(ordered.filter((span) => isModelCallStep(span) && !isCapture(span)));
  const within = new Map(captures.map((capture) => [capture, steps.takeAround(capture)]));
  const joined = captures.map((captured) => ({
    captured,
    step: within.get(captured) ?? steps.takeByResponse(captured) ?? steps.takeDuring(captured),
  }));
  const alone = steps.rest().map((step) => ({ captured: null, step }));
  return [...joined, ...alone].sort((one, other) => orderOf(one) - orderOf(other));
}

/** Whether a span is a captured model call: it has training data, or the reason for its absence. */
function isCapture({ attributes }: Span): boolean {
  const hasTokens =
    Array.isArray(attributes[modelCallAttributes.promptTokenIds]) &&
    Array.isArray(attributes[modelCallAttributes.responseTokenIds]);
  return hasTokens || typeof attributes[modelCallAttributes.isTrainable] === 'boolean';
}

function isModelCallStep({ attributes }: Span): boolean {
  return attributes[agentLightningAttributes.stepKind] === 'model-call';
}

function orderOf({ captured, step }: JoinedModelCall): number {
  return (captured ?? step)?.sequenceId ?? 0;
}

/** Steps without a capture so far. */
class UnjoinedSteps {
  readonly #steps: Map<string, Span>;
  readonly #idsByResponse: Map<string, string[]> = new Map();

  constructor(steps: readonly Span[]) {
    this.#steps = new Map(steps.map((step) => [step.spanId, step]));
    for (const step of steps) {
      const responseId = responseIdOf(step);
      if (responseId === null) continue;
      const ids = this.#idsByResponse.get(responseId);
      if (ids === undefined) this.#idsByResponse.set(responseId, [step.spanId]);
      else ids.push(step.spanId);
    }
  }

  /** The step that encloses a capture. Of several retries within one step, the last one is joined. */
  takeAround(capture: Span): Span | null {
    const step = capture.parentId === null ? undefined : this.#steps.get(capture.parentId);
    if (step === undefined) return null;
    const wanted = responseIdOf(step);
    return wanted === null || wanted === responseIdOf(capture) ? this.#take(step.spanId) : null;
  }

  /** The step with the same response id. */
  takeByResponse(capture: Span): Span | null {
    const ids = this.#idsByResponse.get(responseIdOf(capture) ?? '') ?? [];
    const spanId = ids.find((id) => this.#steps.has(id));
    return spanId === undefined ? null : this.#take(spanId);
  }

  /** The step without a response id during which a capture happened, such as one of Langfuse. */
  takeDuring({ startTimeMs, endTimeMs }: Span): Span | null {
    if (startTimeMs === null || endTimeMs === null) return null;
    const around = [...this.#steps.values()].find(
      (step) =>
        responseIdOf(step) === null &&
        foreignModelCall(step) !== null &&
        (step.startTimeMs ?? Number.POSITIVE_INFINITY) <= startTimeMs &&
        (step.endTimeMs ?? Number.NEGATIVE_INFINITY) >= endTimeMs,
    );
    return around === undefined ? null : this.#take(around.spanId);
  }

  rest(): readonly Span[] {
    return [...this.#steps.values()];
  }

  #take(spanId: string): Span | null {
    const step = this.#steps.get(spanId) ?? null;
    this.#steps.delete(spanId);
    return step;
  }
}

function responseIdOf({ attributes }: Span): string | null {
  const value = attributes[genAiAttributes.responseId];
  return typeof value === 'string' && value !== '' ? value : null;
}
