import type { Attributes } from '../spans/span.ts';

/**
 * Kind of an agent step, common to all frameworks:
 *
 * - `agent`: the invocation of one agent, from input to output. Nested steps carry its name.
 * - `step`: an agent turn, a graph node, a task.
 * - `model-call`: one model request as the framework reports it. The gateway records the same call with its
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

/** A step that a framework reports at its start. */
export interface AgentStep {
  /** The framework's id of the step, unique among open steps. */
  readonly id: string;
  /** The framework's id of the parent step; null or unknown for an outermost step. */
  readonly parentId: string | null;
  /** What the step is. */
  readonly kind: AgentStepKind;
  /** Name of the agent, tool, model or node. */
  readonly name: string;
  /**
   * Agent that runs this step, where the framework reports it without an enclosing step of the kind `agent`.
   *
   * @default the agent of the parent step
   */
  readonly agentName?: string | undefined;
  /** Attributes of the span. @default {} */
  readonly attributes?: Attributes;
  /**
   * Whether the step is internal to the framework. A hidden step is not recorded: its children become children of its
   * parent.
   *
   * @default false
   */
  readonly isHidden?: boolean;
  /**
   * Returns the attributes collected until the end of the step. Also called when the attempt ends before the framework
   * reports the end of the step, for example for an interrupted stream.
   *
   * @default nothing
   */
  readonly gathered?: () => Attributes;
}

/** How a step ended. */
export interface AgentStepEnd {
  /** Attributes to add to the span. @default {} */
  readonly attributes?: Attributes;
  /** The thrown error. @default none */
  readonly error?: unknown;
  /** Whether the step was cancelled: its result is partial, and it is not a failure of the agent. @default false */
  readonly isAborted?: boolean;
}

/** Position of a model call in a trace, recorded by the gateway. */
export interface TracePosition {
  /** Id of the parent span; null at the root. */
  readonly parentSpanId: string | null;
  /** Name of the agent; null outside of one. */
  readonly agentName: string | null;
  /** From the outermost agent to `agentName`. */
  readonly agentPath: readonly string[];
}
