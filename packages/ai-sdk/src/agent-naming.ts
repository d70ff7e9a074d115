import type { SdkStart } from './sdk-events.ts';

/** What is known of a call that may be an agent's work. */
export interface AiSdkCall {
  /** `generateText`, `streamText`, `generateObject`, `streamObject`. */
  readonly operation: string;
  /** The call's `telemetry.functionId`; null when it has none. */
  readonly functionId: string | null;
  readonly model: string | null;
  /** The system instructions, where they are a text that the user has recorded. */
  readonly instructions: string | null;
}

/** Names the agents that calls are the work of. */
export class AgentNaming {
  readonly #choose: (call: AiSdkCall) => string | null;

  constructor(choose: (call: AiSdkCall) => string | null = ({ functionId }) => functionId) {
    this.#choose = choose;
  }

  /** The agent's name; null for a call that is only a step of the agent around it. */
  nameOf(event: SdkStart, operation: string): string | null {
    const call = {
      operation,
      functionId: event.functionId ?? null,
      model: event.modelId ?? event.model?.modelId ?? null,
      instructions: textOf(event.instructions) ?? textOf(event.system),
    };
    try {
      return this.#choose(call);
    } catch {
      // The user's function must not keep the call from being recorded.
      return call.functionId;
    }
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
