import type { Attributes } from '@agentlightning/core';
import { type AgentStep, type AgentStepKind, type Fields, fieldsOf, plainText } from '@agentlightning/core/adapter';
import { genAiAttributes } from '@agentlightning/core/spans';
import { newSpanId } from '@agentlightning/core/store';
import { ModelCallTracker, type ParentSpan } from './model-call-tracker.ts';
import { steps } from './recorded-steps.ts';

/** Recorded span types of Mastra; others are only levels of the hierarchy. */
const kinds: Readonly<Record<string, AgentStepKind>> = {
  agent_run: 'agent',
  tool_call: 'tool-call',
  mcp_tool_call: 'tool-call',
  workflow_run: 'step',
  workflow_step: 'step',
  rag_embedding: 'embedding',
};

/** A span of Mastra that is recorded as an agent step of the current rollout, in the interface of Mastra's own spans. */
export class MastraSpan implements ParentSpan {
  readonly id: string = newSpanId();
  readonly type: string;
  readonly parent: MastraSpan | undefined;
  readonly isEvent: boolean = false;
  readonly isInternal: boolean = false;
  readonly isValid: boolean = true;
  readonly metadata: object;
  readonly traceId: string = '';
  readonly #model: string;

  constructor(parent: MastraSpan | undefined, options: Fields) {
    const { type, attributes, metadata } = options;
    this.type = String(type);
    this.parent = parent;
    this.metadata = fieldsOf(metadata);
    this.#model = String(fieldsOf(attributes)['model']);
  }

  /** The parent of the spans of a run: it is not recorded, and its children belong to the current rollout. */
  static root(): MastraSpan {
    return new MastraSpan(undefined, { type: 'generic' });
  }

  get isRootSpan(): boolean {
    return this.parent === undefined;
  }

  createChildSpan(options: Fields): MastraSpan {
    const { type, name, entityName, entityId, tracingPolicy, attributes, input } = options;
    const kind = kinds[String(type)];
    const isInternal = String(type).startsWith('workflow') && Boolean(fieldsOf(tracingPolicy)['internal']);
    return this.startChild(options, {
      kind: kind ?? 'step',
      name: String(entityName ?? entityId ?? name),
      isHidden: kind === undefined || isInternal,
      attributes: kind === 'tool-call' ? toolAttributes(input, fieldsOf(attributes)) : {},
    });
  }

  /** Starts a child that is recorded as a given step. */
  startChild(options: Fields, step: Omit<AgentStep, 'id' | 'parentId'>): MastraSpan {
    const span = new MastraSpan(this, options);
    steps.start({ ...step, id: span.id, parentId: this.id });
    return span;
  }

  /** Events are not recorded. */
  createEventSpan(options: Fields): MastraSpan {
    return new MastraSpan(this, options);
  }

  /** Called for a model generation: records its calls. */
  createTracker(): ModelCallTracker {
    return new ModelCallTracker(this, this.#model);
  }

  end(options: Fields = {}): void {
    const { output } = options;
    const isTool = kinds[this.type] === 'tool-call';
    const attributes = isTool && output !== undefined ? { [genAiAttributes.toolCallResult]: plainText(output) } : {};
    steps.end(this.id, { attributes });
  }

  endTree(options?: Fields): void {
    this.end(options);
  }

  error({ error, endSpan }: Fields): void {
    if (endSpan !== false) steps.end(this.id, { error });
  }

  update(): void {}

  findParent(type: string): MastraSpan | undefined {
    return this.parent?.type === type ? this.parent : this.parent?.findParent(type);
  }

  getParentSpanId(): string | undefined {
    return this.parent?.id;
  }

  exportSpan(): undefined {}

  executeInContext<TResult>(run: () => TResult): TResult {
    return steps.within(this.id, run);
  }

  executeInContextSync<TResult>(run: () => TResult): TResult {
    return steps.within(this.id, run);
  }
}

function toolAttributes(input: unknown, { toolCallId }: Fields): Attributes {
  const attributes = { [genAiAttributes.toolCallArguments]: plainText(input) };
  return typeof toolCallId === 'string' ? { ...attributes, [genAiAttributes.toolCallId]: toolCallId } : attributes;
}
