import { AgentLightningError } from './agent-lightning-error.ts';

/** Thrown when a status change is not in the state machine, such as `succeeded` to `running`. */
export class IllegalTransitionError extends AgentLightningError {
  constructor(subject: string, from: string, to: string) {
    super({
      code: 'ILLEGAL_TRANSITION',
      message: `${subject} is ${from} and cannot become ${to}`,
      details: { subject, from, to },
    });
  }
}
