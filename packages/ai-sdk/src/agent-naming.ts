import type { SdkStart } from './sdk-events.ts';
import { modelIdOf } from './sdk-messages.ts';

/** The data from which an agent name is derived. */
export interface AISDKCall {
  /** `generateText`, `streamText`, `generateObject`, `streamObject`. */
  readonly operation: string;
  /** The call's `telemetry.functionId`; null when it has none. */
  readonly functionId: string | null;
  /** Id of the called model; null when the call has none. */
  readonly model: string | null;
  /** The system instructions, if they are a string and the user records inputs. */
  readonly instructions: string | null;
}

/** Returns the agent name of a call; null for a call that is only a step of the enclosing agent. */
export type AgentNaming = (call: AISDKCall) => string | null;

/** The agent name from the user's function; the `functionId` if the function throws. */
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
    // An error in the user's function must not prevent recording.
    return functionId;
  }
}
