import { type AttributeValue, currentRollout, type RolloutContext } from '@agentlightning/core';
import { type AgentSteps, type CallPlace, rolloutStorage, unsupportedFramework } from '@agentlightning/core/adapter';
import { agentPathText } from '@agentlightning/core/spans';
import { isWaiting, type OpenModelCall } from './open-model-call.ts';

/**
 * Model calls whose requests the framework makes without a wrapper around them: those of version 6, and of
 * `generateObject`. They are found by the context that a request is made in.
 *
 * The context of an operation is entered when its model call begins, so that operations that run at the same time are told
 * apart. That has no effect where something else is awaited before this adapter is called: a callback of the user's own for
 * this call. Such calls are found in the context around the operation.
 */
export class UnplacedCalls {
  readonly #steps: AgentSteps;
  readonly #calls: WeakMap<RolloutContext, Set<OpenModelCall>> = new WeakMap();
  readonly #around: WeakMap<OpenModelCall, RolloutContext> = new WeakMap();

  constructor(steps: AgentSteps) {
    this.#steps = steps;
  }

  /**
   * Adds a call whose request is made next, and enters the context of its operation. To be called before anything is
   * awaited.
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

  /** Returns the call with these messages whose request is about to be made in the current context. */
  claim(inputMessages: AttributeValue | undefined): OpenModelCall | null {
    const waiting = this.#current().filter(isWaiting);
    // Messages may be written in two ways: the only call that waits is meant in any case.
    const call = waiting.find((other) => other.inputMessages === inputMessages) ?? onlyOne(waiting);
    if (call !== null) this.#leaveAround(call);
    return call;
  }

  /**
   * Where in the trace a request belongs that is made in the current context; null when no call, or more than one that has
   * had its request, is known there. A call that waits for its request comes first: calls of version 6 that failed, or
   * whose stream was cancelled, stay here, as that version reports neither.
   *
   * @throws AgentLightningError UNSUPPORTED_FRAMEWORK when it could be the request of different agents
   */
  place(): CallPlace | null {
    const current = this.#current();
    const waiting = current.filter(isWaiting);
    const call = onlyOne(waiting.length > 0 ? waiting : current);
    if (call === null) return this.#placeOfAgent(waiting);
    call.requests += 1;
    this.#leaveAround(call);
    return this.#steps.placeOf(call.id);
  }

  /** The place that calls have in common. Training would mix the agents up if a request were sent as another's. */
  #placeOfAgent(calls: readonly OpenModelCall[]): CallPlace | null {
    const places = calls.map(({ id }) => this.#steps.placeOf(id)).filter((place) => place !== null);
    const agents = new Set(places.map(({ agentPath }) => agentPathText(agentPath)));
    const [place] = places;
    if (place === undefined) return null;
    if (agents.size === 1) return { ...place, parentSpanId: currentRollout()?.parentSpanId ?? null };
    throw unsupportedFramework(
      `Model calls of several agents of the AI SDK cannot be told apart: ${[...agents].join(', ')}.`,
      'Wrap their models with agentLightningModel, or remove the callback experimental_onStepStart.',
    );
  }

  #addTo(context: RolloutContext, call: OpenModelCall): void {
    this.#calls.set(context, (this.#calls.get(context) ?? new Set()).add(call));
  }

  /** A call that was found in the context of its operation is not looked for around it any more. */
  #leaveAround(call: OpenModelCall): void {
    const around = this.#around.get(call);
    if (around !== undefined && around !== currentRollout()) this.#calls.get(around)?.delete(call);
  }

  /** The calls under way in the current context. Those that have ended are removed here. */
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
