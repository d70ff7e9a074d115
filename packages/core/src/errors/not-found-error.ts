import { AgentLightningError } from './agent-lightning-error.ts';

/** Thrown when an id names nothing: `Rollout ro-123 not found`. */
export class NotFoundError extends AgentLightningError {
  constructor(kind: string, id: string) {
    super({ code: 'NOT_FOUND', message: `${kind} ${id} not found`, details: { kind, id } });
  }
}
