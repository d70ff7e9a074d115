import { AgentLightningError } from './agent-lightning-error.ts';

/**
 * Thrown for an unknown id: `Rollout ro-123 not found`.
 *
 * The third argument overrides the catalogue's remedy, which applies to runs and rollouts.
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
