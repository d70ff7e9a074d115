import { AgentLightningError } from '@agentlightning/core';

/** Thrown when the model's state does not allow an operation; no state was changed. */
export class PreconditionError extends AgentLightningError {
  constructor(message: string, remedy: string) {
    super({ code: 'PRECONDITION_FAILED', message, remedy });
  }
}
