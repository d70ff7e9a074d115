import { agentAttributes, agentPathOf, withinAgent } from '../agent-path.ts';
import { type Clock, systemClock } from '../clock.ts';
import { exceptionAttributes, messageOf } from '../exception-attributes.ts';
import { newSpanId } from '../id.ts';
import { currentRollout, type RolloutContext, withRollout } from '../rollout-context.ts';
import { beginSpan, silentSpan, type TracerOptions } from '../rollout-tracer.ts';
import type { Attributes, AttributeValue } from '../span.ts';
import { agentLightningAttributes, genAiAttributes, modelCallAttributes } from '../span-attributes.ts';
import type { ActiveSpan } from '../tracer.ts';
import { isAbortReason } from './abort-reasons.ts';
import type { AgentStep, AgentStepEnd, AgentStepKind, CallPlace } from './agent-step.ts';

/** A step that is under way. */
interface OpenStep {
  readonly span: ActiveSpan;
  /** What a step or a call made inside belongs to. */
  readonly inside: RolloutContext;
}

/** On what is inside of a step: its id, which contexts that are made from it keep. */
const innermostStep: unique symbol = Symbol.for('agentlightning.innermost-step');

type InsideStep = RolloutContext & { readonly [innermostStep]?: string };

/** What {@link AgentSteps} can be given. */
export interface AgentStepsOptions extends TracerOptions {
  /** The framework's name: `langchain`. */
  readonly framework: string;
}

/**
 * The steps of agents, as a framework tells of them by its own ids, recorded as spans of the rollouts they are in.
 *
 * A step belongs to the rollout of the step it is part of, or else to the one that is running where it begins;
 * outside of rollouts nothing is recorded. What the agent puts around it within that step, such as `withAgent`, stays
 * around it. Steps may overlap in any way, of any number of rollouts. Ends of steps
 * that are not known are passed over, and nothing here throws: an agent must not notice.
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

  /** How many steps are under way. */
  get openCount(): number {
    return this.#open.size;
  }

  /**
   * Begins a step. One whose id is under way already is left alone.
   *
   * @returns what is made inside belongs to this; null when the step is not recorded
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

  /** Sets attributes of a step that is under way. */
  annotate(id: string, attributes: Attributes): void {
    this.#open.get(id)?.span.setAttributes(attributes);
  }

  /** Notes something that happened at this moment of a step that is under way. */
  addEvent(id: string, name: string, attributes: Attributes = {}): void {
    this.#open.get(id)?.span.addEvent(name, attributes);
  }

  /** Ends a step, and records it. */
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
      step.span.setStatus({ code: 'ERROR', message: messageOf(error) });
    }
    step.span.end();
  }

  /** Whether a step of this id is under way. */
  has(id: string): boolean {
    return this.#open.has(id);
  }

  /** Runs a function inside a step: spans, steps and calls made there belong to it. Just runs it when the step is not known. */
  within<TResult>(id: string, run: () => TResult): TResult {
    const step = this.#open.get(id);
    return step === undefined ? run() : withRollout(step.inside, run);
  }

  /** Where a model call that is made inside a step belongs; null when the step is not known. */
  placeOf(id: string): CallPlace | null {
    const inside = this.#open.get(id)?.inside;
    if (inside === undefined) return null;
    return { parentSpanId: inside.parentSpanId, agentName: inside.agentName, agentPath: agentPathOf(inside) };
  }

  /** The rollout that a step belongs to; null when the step is not known. */
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

  /** Stands in for the span of a hidden step, so that the end of the attempt clears it away like any other. */
  #hide(id: string, around: RolloutContext): ActiveSpan {
    const span: ActiveSpan = {
      ...silentSpan,
      traceId: around.traceId,
      spanId: newSpanId(),
      end: () => {
        this.#open.delete(id);
        tellSink(() => around.sink.spanDiscarded?.(span.spanId));
      },
    };
    tellSink(() => around.sink.spanStarted?.(span));
    return span;
  }
}

/** A sink must not throw. Where one does, the agent goes on. */
function tellSink(tell: () => void): void {
  try {
    tell();
  } catch {
    // Only a hidden step is concerned, of which nothing is recorded.
  }
}

/** OpenTelemetry's names of operations, which also begin the names of spans. */
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

/** Where what happens in a step is, by its agent. */
function withAgentOf({ kind, name, agentName }: AgentStep, around: RolloutContext): RolloutContext {
  if (kind === 'agent') return withinAgent(around, name);
  return agentName === undefined || agentName === around.agentName ? around : withinAgent(around, agentName);
}

/** One by one: to spread many small objects into one takes longer than all the rest of a step. */
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
