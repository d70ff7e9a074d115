import { AgentLightningError } from '@agentlightning/core';

/** Thrown when a batch, loss or request asks for something the runtime cannot do; nothing was changed. */
export class RejectedRequestError extends AgentLightningError {
  constructor(message: string, details?: Readonly<Record<string, unknown>>) {
    super({ code: 'RUNTIME_REJECTED', message, ...(details && { details }) });
  }
}
