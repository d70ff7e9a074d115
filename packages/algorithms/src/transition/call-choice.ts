import type { AttributeValue, ModelCall, Span } from '@agentlightning/core';
import { isAgentAmong, tagsFromSpan } from '@agentlightning/core/spans';
import type { JudgedTrace } from '../intermediate-reward/reward-rule.ts';
import type { CapturedCalls } from './captured-calls.ts';
import { SpanTree } from './span-tree.ts';

/**
 * Which model calls are trained on: selective optimisation. A call must be what every one of these says that is given;
 * the others stay as context, and are counted by why they were left out.
 */
export interface CallChoice {
  /**
   * Only calls of these agents, by name or by the path from the outermost agent on: `boss>expert`. A call whose agent is
   * not known is then left out.
   *
   * @default all
   */
  readonly agents?: readonly string[];
  /** Only calls that were made in one of these nodes of a graph, such as LangGraph's, at whatever depth. @default all */
  readonly nodes?: readonly string[];
  /** Only calls of which the span, or one that it lies in, has one of these tags. @default all */
  readonly tags?: readonly string[];
  /**
   * Only calls that one of these models served, by its name at the endpoint. Where several policies
   * are trained at once, the trainer says here which calls are whose.
   *
   * @default all
   */
  readonly models?: readonly string[];
  /** Only calls of which this is true. The result for a call must not change. @default all */
  readonly onlyCalls?: (call: ModelCall, trace: Pick<JudgedTrace, 'spans' | 'modelCalls'>) => boolean;
}

/** Why a call was not chosen. */
export type ChoiceReason = 'other_model' | 'other_agent' | 'other_node' | 'other_tag' | 'not_chosen';

/** Where graphs say which node is at work: our LangChain adapter, and OpenInference. */
const nodeAttributes = ['langgraph.node', 'graph.node.id'] as const;

/** Decides which calls of an attempt are chosen. */
export class CallChooser {
  readonly #choice: CallChoice;
  readonly #captured: CapturedCalls;
  #tree: SpanTree | null = null;
  #stepOf: ReadonlyMap<string, string> | null = null;

  constructor(captured: CapturedCalls, choice: CallChoice) {
    this.#captured = captured;
    this.#choice = choice;
  }

  /** Why a call is not chosen; null when it is. */
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

  /** Whether an enclosing span matches: of the call's record, or of the step that an adapter reported. */
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
