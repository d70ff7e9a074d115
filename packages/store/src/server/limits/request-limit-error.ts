import { AgentLightningError } from '@agentlightning/core';

/** Thrown when a request is larger than the server takes, in a way that HTTP has a status of its own for. */
export class RequestLimitError extends AgentLightningError {
  /** 414 for an address that is too long, 431 for headers. */
  readonly status: 414 | 431;

  constructor(status: 414 | 431, limit: { readonly message: string; readonly remedy: string }) {
    super({ code: 'PAYLOAD_TOO_LARGE', ...limit });
    this.status = status;
  }
}
