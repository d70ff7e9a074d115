import type { Attributes } from '@agentlightning/core';
import type { AgentSteps } from '@agentlightning/core/adapter';
import { Operation } from './operation.ts';
import { UnplacedCalls } from './unplaced-calls.ts';

/** How an operation begins. */
export interface OperationStart {
  readonly id: string;
  /** `generateText`. */
  readonly name: string;
  /** The agent that the operation is the work of; null when it is only a step. */
  readonly agentName: string | null;
}

/**
 * The operations of the AI SDK that are under way in rollouts. Both majors' events, and models that record themselves,
 * end up here.
 */
export class Operations {
  readonly steps: AgentSteps;
  /** Model calls whose request nobody announces. */
  readonly unplaced: UnplacedCalls;
  /** Whether models record themselves: the one line is in place. */
  isRecording = false;
  /** Those that are under way. */
  readonly open: Map<string, Operation> = new Map();

  constructor(steps: AgentSteps) {
    this.steps = steps;
    this.unplaced = new UnplacedCalls(steps);
  }

  /** The operation of an id; undefined outside of rollouts, and for those that have ended. */
  get(id: string | undefined): Operation | undefined {
    return this.open.get(id ?? '');
  }

  /** Begins an operation, in a rollout; outside of one there is none. */
  begin({ id, name, agentName }: OperationStart): Operation | undefined {
    const gathered = (): Attributes => {
      this.open.delete(id);
      return {};
    };
    const kind = agentName === null ? 'step' : 'agent';
    if (this.steps.start({ id, parentId: null, kind, name: agentName ?? name, gathered }) === null) return undefined;
    const operation = new Operation(this.steps, id);
    this.open.set(id, operation);
    return operation;
  }
}
