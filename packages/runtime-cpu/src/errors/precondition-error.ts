import { AgentLightningError } from '@agentlightning/core';

/** Thrown when an operation comes at a moment the model's state does not allow; nothing was changed. */
export class PreconditionError extends AgentLightningError {
  constructor(message: string, remedy: string) {
    super({ code: 'PRECONDITION_FAILED', message, remedy });
  }
}
