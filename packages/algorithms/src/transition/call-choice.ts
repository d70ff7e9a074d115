import type { AttributeValue, ModelCall, Span } from '@agentlightning/core';
import { isAgentAmong } from '@agentlightning/core/internal';
import { tagsFromSpan } from '@agentlightning/core/spans';
import type { CapturedCalls } from './captured-calls.ts';
import type { JudgedTrace } from './reward-rule.ts';

/** The spans of an attempt as a tree. */
export class SpanTree {
  readonly #bySpanId: ReadonlyMap<string, Span>;

  /** @param spans - the spans of one attempt, in any order */
  constructor(spans: readonly Span[]) {
    this.#bySpanId = new Map(spans.map((span) => [span.spanId, span]));
  }

  /** The span of this id; null when the tree does not have it. */
  get(spanId: string): Span | null {
    return this.#bySpanId.get(spanId) ?? null;
  }

  /** A span and its ancestors, from the inside out. */
  *around(spanId: string): Generator<Span> {
    const seen = new Set<string>();
    for (let span = this.get(spanId); span !== null && !seen.has(span.spanId); span = this.get(span.parentId ?? '')) {
      seen.add(span.spanId);
      yield span;
    }
  }
}

/**
 * Selection of the model calls to train on. A call must match every given option; other calls remain as context and are
 * counted by reason.
 */
export interface CallChoice {
  /**
   * Agents, by name or by path from the outermost agent: `boss>expert`. Calls of unknown agents are excluded.
   *
   * @default all
   */
  readonly agents?: readonly string[];
  /** Nodes of a graph, such as LangGraph's, at any depth. @default all */
  readonly nodes?: readonly string[];
  /** Tags of the call's span or an enclosing span. @default all */
  readonly tags?: readonly string[];
  /**
   * Models, by their name at the endpoint. In a run of several policies, the trainer sets this option.
   *
   * @default all
   */
  readonly models?: readonly string[];
  /** Predicate over calls. It must be deterministic. @default all */
  readonly onlyCalls?: (call: ModelCall, trace: Pick<JudgedTrace, 'spans' | 'modelCalls'>) => boolean;
}

/** Reason for excluding a call. */
export type ChoiceReason = 'other_model' | 'other_agent' | 'other_node' | 'other_tag' | 'not_chosen';

/** Span attributes with the name of the graph node: LangChain adapter and OpenInference. */
const nodeAttributes = ['langgraph.node', 'graph.node.id'] as const;

/** Selects calls of an attempt. */
export class CallChooser {
  readonly #choice: CallChoice;
  readonly #captured: CapturedCalls;
  #tree: SpanTree | null = null;
  #stepOf: ReadonlyMap<string, string> | null = null;

  constructor(captured: CapturedCalls, choice: CallChoice) {
    this.#captured = captured;
    this.#choice = choice;
  }

  /** Reason for excluding a call; null when it is selected. */
  reasonAgainst(call: ModelCall): ChoiceReason | null {
    const { agents, models, nodes, tags, onlyCalls } = this.#choice;
    if (models !== undefined && !models.includes(call.model)) return 'other_model';
    if (agents !== undefined && !isAgentAmong(agents, call)) return 'other_agent';
    if (nodes !== undefined && !this.#lies(call, (span) => isInNode(span, nodes))) return 'other_node';
    if (tags !== undefined && !this.#lies(call, (span) => isTagged(span, tags))) return 'other_tag';
    const { spans, calls: modelCalls } = this.#captured;
    if (onlyCalls !== undefined && !onlyCalls(call, { spans, modelCalls })) return 'not_chosen';
    return null;
  }

  /** Whether a span that encloses the call's record or its adapter span matches. */
  #lies(call: ModelCall, isSuch: (span: Span) => boolean): boolean {
    this.#tree ??= new SpanTree(this.#captured.spans);
    this.#stepOf ??= new Map(this.#captured.stepped.map(({ captured, step }) => [captured.spanId, step.spanId]));
    for (const span of this.#tree.around(call.spanId)) if (isSuch(span)) return true;
    const step = this.#stepOf.get(call.spanId);
    if (step === undefined) return false;
    for (const span of this.#tree.around(step)) if (isSuch(span)) return true;
    return false;
  }
}

function isInNode({ attributes }: Span, nodes: readonly string[]): boolean {
  const isWanted = (value: AttributeValue | undefined): boolean => typeof value === 'string' && nodes.includes(value);
  return nodeAttributes.some((name) => isWanted(attributes[name]));
}

function isTagged(span: Span, tags: readonly string[]): boolean {
  return tagsFromSpan(span).some((tag) => tags.includes(tag));
}
