import type { SdkStart } from './sdk-events.ts';
import { modelIdOf } from './sdk-messages.ts';

/** What is known of a call that may be an agent's work. */
export interface AISDKCall {
  /** `generateText`, `streamText`, `generateObject`, `streamObject`. */
  readonly operation: string;
  /** The call's `telemetry.functionId`; null when it has none. */
  readonly functionId: string | null;
  readonly model: string | null;
  /** The system instructions, where they are a text that the user has recorded. */
  readonly instructions: string | null;
}

/** Names the agent that a call is the work of; null for a call that is only a step of the agent around it. */
export type AgentNaming = (call: AISDKCall) => string | null;

/** The agent's name, as the user's function has it; its `functionId` where that throws. */
export function agentNameOf(naming: AgentNaming, operation: string, event: SdkStart): string | null {
  const { functionId = null, instructions = event.system } = event;
  try {
    return naming({
      operation,
      functionId,
      model: modelIdOf(event) ?? null,
      instructions: typeof instructions === 'string' ? instructions : null,
    });
  } catch {
    // The user's function must not keep the call from being recorded.
    return functionId;
  }
}
