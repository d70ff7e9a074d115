import type { Span } from './span.ts';
import { agentLightningAttributes, genAiAttributes, modelCallAttributes } from './span-attributes.ts';

/** One model call, by those who told of it: at least one of them did. */
export interface JoinedModelCall {
  /** The record with the tokens and bodies, of the gateway or of a recording `fetch`; null when there is none. */
  readonly captured: Span | null;
  /** The step of a framework's adapter, with the agent and its place in the trace; null when there is none. */
  readonly step: Span | null;
}

/**
 * Brings the records of each model call together: what the gateway captured, and what a framework's adapter told.
 *
 * A capture that was made inside an adapter's step belongs to it. Others are joined on the response id, in the order
 * of sequence ids where an engine gives several answers the same one. Spans that are no model calls are left out.
 *
 * @returns in order of sequence id of the capture, or of the step where there is none
 *
 * @example
 * ```ts
 * for (const { captured, step } of joinModelCalls(spans)) console.log(captured?.spanId, step?.attributes['agent.name']);
 * ```
 */
export function joinModelCalls(spans: readonly Span[]): readonly JoinedModelCall[] {
  const ordered = [...spans].sort((one, other) => one.sequenceId - other.sequenceId);
  const captures = ordered.filter(isCapture);
  const steps = new UnjoinedSteps(ordered.filter((span) => isModelCallStep(span) && !isCapture(span)));
  const within = new Map(captures.map((capture) => [capture, steps.takeAround(capture)]));
  const joined = captures.map((captured) => ({
    captured,
    step: within.get(captured) ?? steps.takeAnswered(captured),
  }));
  const alone = steps.rest().map((step) => ({ captured: null, step }));
  return [...joined, ...alone].sort((one, other) => orderOf(one) - orderOf(other));
}

/** Whether a span records a model call with what training needs, or says why it has not. */
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

/** The steps that no capture has been joined with yet. */
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

  /** The step that a capture was made in. The last try of a call that was retried within one step has it. */
  takeAround(capture: Span): Span | null {
    const step = capture.parentId === null ? undefined : this.#steps.get(capture.parentId);
    if (step === undefined) return null;
    const wanted = responseIdOf(step);
    return wanted === null || wanted === responseIdOf(capture) ? this.#take(step.spanId) : null;
  }

  /** The step that tells of the same answer. */
  takeAnswered(capture: Span): Span | null {
    const ids = this.#idsByResponse.get(responseIdOf(capture) ?? '') ?? [];
    const spanId = ids.find((id) => this.#steps.has(id));
    return spanId === undefined ? null : this.#take(spanId);
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
