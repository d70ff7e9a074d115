import { type AttributeValue, currentRollout, type RolloutContext } from '@agentlightning/core';
import type { AgentSteps, CallPlace } from '@agentlightning/core/adapter';
import { isWaiting, type OpenModelCall } from './open-model-call.ts';

/**
 * Model calls whose request the framework makes without a word, as version 6 does, and `generateObject`. They are found by
 * where the request is made: in the same context as the operation's beginning was told.
 */
export class UnplacedCalls {
  readonly #steps: AgentSteps;
  readonly #calls: WeakMap<RolloutContext, Set<OpenModelCall>> = new WeakMap();

  constructor(steps: AgentSteps) {
    this.#steps = steps;
  }

  /** Adds a call whose request will be made in the context that is current now. */
  add(call: OpenModelCall): void {
    const context = currentRollout();
    if (context !== null) this.#calls.set(context, (this.#calls.get(context) ?? new Set()).add(call));
  }

  /** The call, with these messages, whose request is about to be made here. */
  claim(inputMessages: AttributeValue | undefined): OpenModelCall | null {
    const waiting = this.#here().filter(isWaiting);
    // Messages may be written in two ways, but when only one call can be meant, it is meant.
    return waiting.find((call) => call.inputMessages === inputMessages) ?? onlyOne(waiting);
  }

  /**
   * Where in the trace a request belongs that is made here; null when several could be meant. It is that of a call which
   * still waits for one, if any does: calls of version 6 that failed, or whose stream was left, stay here although they
   * are over.
   */
  place(): CallPlace | null {
    const here = this.#here();
    const waiting = here.filter(isWaiting);
    const call = onlyOne(waiting.length > 0 ? waiting : here);
    if (call === null) return null;
    call.requests += 1;
    return this.#steps.placeOf(call.id);
  }

  /** Those under way; the others are forgotten on the way. */
  #here(): readonly OpenModelCall[] {
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
