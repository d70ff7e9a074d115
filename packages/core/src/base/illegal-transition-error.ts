import { AgentLightningError } from './agent-lightning-error.ts';

/** Thrown for a status transition that the state machine does not permit, such as `succeeded` to `running`. */
export class IllegalTransitionError extends AgentLightningError {
  constructor(subject: string, from: string, to: string) {
    super({
      code: 'ILLEGAL_TRANSITION',
      message: `${subject} is ${from} and cannot become ${to}`,
      details: { subject, from, to },
    });
  }
}
