import { type AttributeValue, currentRollout, type RolloutContext } from '@agentlightning/core';
import { type AgentSteps, type TracePosition, unsupportedFramework } from '@agentlightning/core/adapter';
import { agentPathText, rolloutStorage } from '@agentlightning/core/internal';
import { isWaiting, type OpenModelCall } from './open-model-call.ts';

/**
 * Model calls whose requests the framework sends without a hook around them: those of version 6, and of `generateObject`.
 * Requests are matched to calls by context.
 *
 * The context of an operation is entered when its model call starts, which distinguishes concurrent operations. This has no
 * effect if a user-defined callback of the call is awaited first. Such calls are matched by the context around the
 * operation.
 */
export class UnmatchedCalls {
  readonly #steps: AgentSteps;
  readonly #calls: WeakMap<RolloutContext, Set<OpenModelCall>> = new WeakMap();
  readonly #around: WeakMap<OpenModelCall, RolloutContext> = new WeakMap();

  constructor(steps: AgentSteps) {
    this.#steps = steps;
  }

  /**
   * Adds a call whose request is sent next, and enters the context of its operation. Must be called before any await.
   *
   * @param inside - the context of the operation
   */
  add(call: OpenModelCall, inside: RolloutContext | null): void {
    const around = currentRollout();
    if (inside === null || around === null) return;
    this.#addTo(inside, call);
    if (around === inside) return;
    this.#addTo(around, call);
    this.#around.set(call, around);
    rolloutStorage().enterWith(inside);
  }

  /** Matches a request with these messages in the current context to its call. */
  claim(inputMessages: AttributeValue | undefined): OpenModelCall | null {
    const waiting = this.#current().filter(isWaiting);
    // The format of the messages may differ: a single waiting call matches in any case.
    const call = waiting.find((other) => other.inputMessages === inputMessages) ?? onlyOne(waiting);
    if (call !== null) this.#removeAround(call);
    return call;
  }

  /**
   * The trace position of a request in the current context; null if no call matches, or more than one that has sent its
   * request. A waiting call takes precedence: failed and cancelled calls of version 6 remain here, because that version
   * reports neither.
   *
   * @throws AgentLightningError UNSUPPORTED_FRAMEWORK when the request could belong to different agents
   */
  position(): TracePosition | null {
    const current = this.#current();
    const waiting = current.filter(isWaiting);
    const call = onlyOne(waiting.length > 0 ? waiting : current);
    if (call === null) return this.#positionOfAgent(waiting);
    call.requests += 1;
    this.#removeAround(call);
    return this.#steps.positionOf(call.id);
  }

  /** The common trace position of calls. A request of an unknown agent must not be sent: it would corrupt the training data. */
  #positionOfAgent(calls: readonly OpenModelCall[]): TracePosition | null {
    const positions = calls.map(({ id }) => this.#steps.positionOf(id)).filter((position) => position !== null);
    const agents = new Set(positions.map(({ agentPath }) => agentPathText(agentPath)));
    const [position] = positions;
    if (position === undefined) return null;
    if (agents.size === 1) return { ...position, parentSpanId: currentRollout()?.parentSpanId ?? null };
    throw unsupportedFramework(
      `Model calls of several agents of the AI SDK cannot be distinguished: ${[...agents].join(', ')}.`,
      'Wrap their models with traceModel, or remove the callback experimental_onStepStart.',
    );
  }

  #addTo(context: RolloutContext, call: OpenModelCall): void {
    this.#calls.set(context, (this.#calls.get(context) ?? new Set()).add(call));
  }

  /** Removes a call that was matched in the context of its operation from the context around it. */
  #removeAround(call: OpenModelCall): void {
    const around = this.#around.get(call);
    if (around !== undefined && around !== currentRollout()) this.#calls.get(around)?.delete(call);
  }

  /** The calls in progress in the current context. Ended calls are removed. */
  #current(): readonly OpenModelCall[] {
    const context = currentRollout();
    const calls = context === null ? undefined : this.#calls.get(context);
    if (calls === undefined) return [];
    for (const call of calls) if (!this.#steps.has(call.id)) calls.delete(call);
    return [...calls];
  }
}

function onlyOne(calls: readonly OpenModelCall[]): OpenModelCall | null {
  return calls.length === 1 ? (calls[0] ?? null) : null;
}
