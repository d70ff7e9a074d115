import { type AttributeValue, currentRollout, type RolloutContext } from '@agentlightning/core';
import type { AgentSteps, CallPlace } from '@agentlightning/core/adapter';
import type { OpenModelCall } from './open-model-call.ts';

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

  /** The call, with these messages, whose request is about to be made here; nobody else gets it then. */
  claim(inputMessages: AttributeValue | undefined): OpenModelCall | null {
    const unclaimed = this.#here().filter(({ isClaimed }) => !isClaimed);
    const same = unclaimed.find((call) => call.inputMessages === inputMessages);
    // Messages may be written in two ways, but when only one call can be meant, it is meant.
    const call = same ?? (unclaimed.length === 1 ? unclaimed[0] : undefined) ?? null;
    if (call !== null) call.isClaimed = true;
    return call;
  }

  /** Where in the trace a request belongs that is made here; null when several could be meant. */
  place(): CallPlace | null {
    const [call, ...others] = this.#here();
    return call === undefined || others.length > 0 ? null : this.#steps.placeOf(call.id);
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
