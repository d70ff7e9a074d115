import type { Attributes } from '@agentlightning/core';
import type { AgentSteps } from '@agentlightning/core/adapter';
import { Operation } from './operation.ts';
import { UnmatchedCalls } from './unmatched-calls.ts';

/** The start of an operation. */
export interface OperationStart {
  readonly id: string;
  /** `generateText`. */
  readonly name: string;
  /** The name of the operation's agent; null if the operation is only a step. */
  readonly agentName: string | null;
}

/**
 * The AI SDK operations in progress within rollouts, from the events of both versions and from wrapped models.
 */
export class Operations {
  readonly steps: AgentSteps;
  /** Model calls without a hook around their request. */
  readonly unmatched: UnmatchedCalls;
  /** Whether wrapped models record their calls: `instrumentAISDK` is active. */
  isRecording = false;
  /** The operations in progress. */
  readonly open: Map<string, Operation> = new Map();

  constructor(steps: AgentSteps) {
    this.steps = steps;
    this.unmatched = new UnmatchedCalls(steps);
  }

  /** The operation of an id; undefined outside a rollout and after its end. */
  get(id: string | undefined): Operation | undefined {
    return this.open.get(id ?? '');
  }

  /** Starts an operation within a rollout; returns undefined outside a rollout. */
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
