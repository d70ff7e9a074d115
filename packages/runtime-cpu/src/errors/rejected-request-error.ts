import { AgentLightningError } from '@agentlightning/core';

/** Thrown when a batch, loss or request is not supported; no state was changed. */
export class RejectedRequestError extends AgentLightningError {
  constructor(message: string, details?: Readonly<Record<string, unknown>>) {
    super({ code: 'RUNTIME_REJECTED', message, ...(details && { details }) });
  }
}
