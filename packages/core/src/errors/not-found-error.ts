import { AgentLightningError } from './agent-lightning-error.ts';

/**
 * Thrown when an id names nothing: `Rollout ro-123 not found`.
 *
 * The third argument is what to do where the catalogue's remedy, to look among runs and rollouts, does not fit.
 */
export class NotFoundError extends AgentLightningError {
  constructor(kind: string, id: string, remedy?: string) {
    super({
      code: 'NOT_FOUND',
      message: `${kind} ${id} not found`,
      details: { kind, id },
      ...(remedy === undefined ? {} : { remedy }),
    });
  }
}
