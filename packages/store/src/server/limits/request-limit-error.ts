import { AgentLightningError } from '@agentlightning/core';

/** Thrown when a request exceeds a limit that has a specific HTTP status. */
export class RequestLimitError extends AgentLightningError {
  /** 414 for a URL that is too long, 431 for too many headers. */
  readonly status: 414 | 431;

  constructor(status: 414 | 431, limit: { readonly message: string; readonly remedy: string }) {
    super({ code: 'PAYLOAD_TOO_LARGE', ...limit });
    this.status = status;
  }
}
