import { type Clock, systemClock } from '../base/clock.ts';
import { errorMessage } from '../base/error-message.ts';
import { newSpanId } from '../base/id.ts';
import { agentAttributes } from '../spans/agent-path.ts';
import { exceptionAttributes } from '../spans/exception-attributes.ts';
import type { Attributes, AttributeValue } from '../spans/span.ts';
import { agentLightningAttributes, genAiAttributes, modelCallAttributes } from '../spans/span-attributes.ts';
import { agentPathOf, withinAgent } from '../tracing/agent-path.ts';
import { currentRollout, type RolloutContext, withRollout } from '../tracing/rollout-context.ts';
import { beginSpan, silentSpan, type TracerOptions } from '../tracing/rollout-tracer.ts';
import type { ActiveSpan } from '../tracing/tracer.ts';
import { isAbortReason } from './abort-reasons.ts';
import type { AgentStep, AgentStepEnd, AgentStepKind, TracePosition } from './agent-step.ts';

/** An open step. */
interface OpenStep {
  readonly span: ActiveSpan;
  /** Context of the spans, steps and model calls within the step. */
  readonly inside: RolloutContext;
}

/** Context field with the id of the innermost step; derived contexts inherit it. */
const innermostStep: unique symbol = Symbol.for('agentlightning.innermost-step');

type InsideStep = RolloutContext & { readonly [innermostStep]?: string };

/** Options of {@link AgentSteps}. */
export interface AgentStepsOptions extends TracerOptions {
  /** The framework's name: `langchain`. */
  readonly framework: string;
}

/**
 * Records the agent steps that a framework reports, keyed by the framework's ids, as spans of their rollouts.
 *
 * A step belongs to the rollout of its parent step, or else to the current rollout; outside of rollouts nothing is
 * recorded. Spans that the agent opens between a step and its child, such as those of `withAgent`, are preserved. Steps
 * can overlap in any order and across rollouts. Unknown ids are ignored, and no method throws.
 *
 * @example
 * ```ts
 * const steps = new AgentSteps({ framework: 'langchain' });
 * steps.start({ id: runId, parentId: parentRunId, kind: 'tool-call', name: 'weather' });
 * steps.end(runId, { attributes: { 'gen_ai.tool.call.result': 'sunny' } });
 * ```
 */
export class AgentSteps {
  readonly #framework: string;
  readonly #clock: Clock;
  readonly #open: Map<string, OpenStep> = new Map();

  constructor({ framework, clock = systemClock }: AgentStepsOptions) {
    this.#framework = framework;
    this.#clock = clock;
  }

  /** Number of open steps. */
  get openCount(): number {
    return this.#open.size;
  }

  /**
   * Starts a step. An id that is already open is ignored.
   *
   * @returns the context within the step; null when the step is not recorded
   */
  start(step: AgentStep): RolloutContext | null {
    const around = this.#around(step.parentId);
    if (around === null || this.#open.has(step.id)) return null;
    const inAgent = withAgentOf(step, around);
    const span = step.isHidden === true ? this.#hide(step.id, around) : this.#record(step, around, inAgent);
    const parentSpanId = step.isHidden === true ? inAgent.parentSpanId : span.spanId;
    const inside: InsideStep = { ...inAgent, parentSpanId, [innermostStep]: step.id };
    this.#open.set(step.id, { span, inside });
    return inside;
  }

  /** Sets attributes of an open step. */
  annotate(id: string, attributes: Attributes): void {
    this.#open.get(id)?.span.setAttributes(attributes);
  }

  /** Adds an event with the current time to an open step. */
  addEvent(id: string, name: string, attributes: Attributes = {}): void {
    this.#open.get(id)?.span.addEvent(name, attributes);
  }

  /** Ends a step and records it. */
  end(id: string, { attributes = {}, error, isAborted = false }: AgentStepEnd = {}): void {
    const step = this.#open.get(id);
    if (step === undefined) return;
    step.span.setAttributes(attributes);
    if (isAborted || (error !== undefined && isAbortReason(step.inside, error))) {
      step.span.setAttribute(modelCallAttributes.isPartial, true);
      if (error !== undefined) step.span.addEvent('exception', exceptionAttributes(error));
      step.span.setStatus({ code: 'UNSET', message: null });
    } else if (error !== undefined) {
      step.span.addEvent('exception', exceptionAttributes(error));
      step.span.setStatus({ code: 'ERROR', message: errorMessage(error) });
    }
    step.span.end();
  }

  /** Whether a step with this id is open. */
  has(id: string): boolean {
    return this.#open.has(id);
  }

  /** Runs a function in the context of a step; an unknown step leaves the context unchanged. */
  within<TResult>(id: string, run: () => TResult): TResult {
    const step = this.#open.get(id);
    return step === undefined ? run() : withRollout(step.inside, run);
  }

  /** Trace position of model calls within a step; null when the step is unknown. */
  positionOf(id: string): TracePosition | null {
    const inside = this.#open.get(id)?.inside;
    if (inside === undefined) return null;
    return { parentSpanId: inside.parentSpanId, agentName: inside.agentName, agentPath: agentPathOf(inside) };
  }

  /** Rollout that a step belongs to; null when the step is unknown. */
  rolloutOf(id: string): RolloutContext | null {
    return this.#open.get(id)?.inside ?? null;
  }

  #around(parentId: string | null): RolloutContext | null {
    const parent = parentId === null ? undefined : this.#open.get(parentId);
    const running: InsideStep | null = currentRollout();
    return parent === undefined || running?.[innermostStep] === parentId ? running : parent.inside;
  }

  #record(step: AgentStep, around: RolloutContext, inAgent: RolloutContext): ActiveSpan {
    const { id, gathered } = step;
    const attributes = stepAttributes(step, inAgent);
    attributes[agentLightningAttributes.framework] = this.#framework;
    attributes[agentLightningAttributes.frameworkRunId] = id;
    return beginSpan(
      { name: spanNameOf(step), context: around, clock: this.#clock },
      {
        attributes,
        beforeEnd: (span) => {
          this.#open.delete(id);
          if (gathered !== undefined) span.setAttributes(gathered());
        },
      },
    );
  }

  /** Registers a placeholder span for a hidden step, so that the end of the attempt removes the step. */
  #hide(id: string, around: RolloutContext): ActiveSpan {
    const span: ActiveSpan = {
      ...silentSpan,
      traceId: around.traceId,
      spanId: newSpanId(),
      end: () => {
        this.#open.delete(id);
        notifySink(() => around.sink.spanDiscarded?.(span.spanId));
      },
    };
    notifySink(() => around.sink.spanStarted?.(span));
    return span;
  }
}

/** Calls the sink; its errors must not reach the agent. */
function notifySink(notify: () => void): void {
  try {
    notify();
  } catch {
    // Affects only a hidden step, which is not recorded.
  }
}

/** OpenTelemetry operation names, which are also the prefixes of span names. */
const operations: Readonly<Record<AgentStepKind, string | null>> = {
  agent: 'invoke_agent',
  step: null,
  'model-call': 'chat',
  'tool-call': 'execute_tool',
  'hand-off': null,
  guardrail: null,
  embedding: 'embeddings',
  retrieval: 'retrieval',
};

function spanNameOf({ kind, name }: AgentStep): string {
  const operation = operations[kind];
  if (operation !== null) return `${operation} ${name}`;
  return kind === 'step' ? name : `${kind} ${name}`;
}

/** Context of a step: with its agent, where the step sets one. */
function withAgentOf({ kind, name, agentName }: AgentStep, around: RolloutContext): RolloutContext {
  if (kind === 'agent') return withinAgent(around, name);
  return agentName === undefined || agentName === around.agentName ? around : withinAgent(around, agentName);
}

/** Assigned one by one: spreading many small objects dominates the cost of a step. */
function stepAttributes(
  { kind, name, attributes }: AgentStep,
  inAgent: RolloutContext,
): Record<string, AttributeValue> {
  const known: Record<string, AttributeValue> = { [agentLightningAttributes.stepKind]: kind };
  const operation = operations[kind];
  if (operation !== null) known[genAiAttributes.operationName] = operation;
  Object.assign(known, agentAttributes(agentPathOf(inAgent)));
  if (kind === 'tool-call') known[genAiAttributes.toolName] = name;
  if (kind === 'model-call' || kind === 'embedding') known[genAiAttributes.requestModel] = name;
  return Object.assign(known, attributes);
}
