import type { Attributes } from '../span.ts';

/**
 * What an agent does in a step, as every framework knows it:
 *
 * - `agent`: one agent at work, from its input to its output. What happens inside carries its name.
 * - `step`: a turn of an agent, a node of a graph, a task.
 * - `model-call`: one request to a model, as the framework sees it. The gateway records the same call with its
 *   tokens; the two are joined on the response id.
 * - `tool-call`, `hand-off` (to another agent), `guardrail`, `embedding`, `retrieval`.
 */
export type AgentStepKind =
  | 'agent'
  | 'step'
  | 'model-call'
  | 'tool-call'
  | 'hand-off'
  | 'guardrail'
  | 'embedding'
  | 'retrieval';

/** A step that a framework tells of when it begins. */
export interface AgentStep {
  /** The framework's own id of the step, unique among those that are under way. */
  readonly id: string;
  /** The framework's id of the step that this one is part of; null, or one that is not known, for an outermost one. */
  readonly parentId: string | null;
  readonly kind: AgentStepKind;
  /** The name of the agent, the tool, the model, the node. */
  readonly name: string;
  /**
   * The agent at work in this step, where the framework says so without a step of the kind `agent` around it.
   *
   * @default the agent whose step this is part of
   */
  readonly agentName?: string | undefined;
  /** @default {} */
  readonly attributes?: Attributes;
  /**
   * Whether the step is only the framework's glue. It is not recorded: what happens inside becomes part of the
   * step around it.
   *
   * @default false
   */
  readonly isHidden?: boolean;
  /**
   * Gives what is known of the step at its end, however it ends: also when the framework never tells of an end and
   * the attempt's end closes it. For what was gathered of an answer that broke off.
   *
   * @default nothing
   */
  readonly gathered?: () => Attributes;
}

/** How a step ended. */
export interface AgentStepEnd {
  /** @default {} */
  readonly attributes?: Attributes;
  /** What was thrown. @default nothing was */
  readonly error?: unknown;
  /** The step was stopped from outside: what it did is partial, and it is no failure of the agent. @default false */
  readonly isAborted?: boolean;
}

/** Where in a trace a model call belongs, for the gateway's record of it. */
export interface CallPlace {
  readonly parentSpanId: string | null;
  readonly agentName: string | null;
  /** From the outermost agent to `agentName`. */
  readonly agentPath: readonly string[];
}
