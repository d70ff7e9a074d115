import { type AgentStepKind, AgentSteps, tapStream } from '@agentlightning/core/adapter';
import { type Fields, fieldsOf, LoopSteps, toolCallAttributes } from '@agentlightning/core/internal';
import { newSpanId } from '@agentlightning/core/store';

/** Steps of all agents in this process. */
const steps = new AgentSteps({ framework: 'mastra' });

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
export class MastraSpan {
  readonly id: string;
  readonly type: string;
  readonly parent: MastraSpan | undefined;
  readonly isEvent: boolean = false;
  readonly isInternal: boolean = false;
  readonly isValid: boolean = true;
  readonly metadata: object;
  readonly traceId: string = '';
  readonly #model: string;

  /** Without a parent, a span that is not recorded, whose children belong to the current rollout. */
  constructor(
    parent?: MastraSpan,
    { type, attributes, metadata }: Fields = { type: 'generic' },
    id: string = newSpanId(),
  ) {
    this.id = id;
    this.type = String(type);
    this.parent = parent;
    this.metadata = fieldsOf(metadata);
    this.#model = String(fieldsOf(attributes)['model']);
  }

  get isRootSpan(): boolean {
    return this.parent === undefined;
  }

  createChildSpan(options: Fields): MastraSpan {
    const { type, name, entityName, entityId, tracingPolicy, attributes, input } = options;
    const kind = kinds[String(type)];
    const isInternal = String(type).startsWith('workflow') && Boolean(fieldsOf(tracingPolicy)['internal']);
    const span = new MastraSpan(this, options);
    steps.start({
      id: span.id,
      parentId: this.id,
      kind: kind ?? 'step',
      name: String(entityName ?? entityId ?? name),
      isHidden: kind === undefined || isInternal,
      attributes: kind === 'tool-call' ? toolCallAttributes({ id: fieldsOf(attributes)['toolCallId'], input }) : {},
    });
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
    steps.end(this.id, { attributes: kinds[this.type] === 'tool-call' ? toolCallAttributes({ output }) : {} });
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

/** Records the steps and model calls of one generation, in the interface of Mastra's own trackers. */
class ModelCallTracker {
  readonly #generation: MastraSpan;
  readonly #loop: LoopSteps;
  /** Whether the request of the current call is being sent. */
  #isSending = false;

  constructor(generation: MastraSpan, model: string) {
    this.#generation = generation;
    this.#loop = new LoopSteps(steps, { parentId: generation.id, model });
  }

  /** The parent of new spans, and the context of the model request. */
  getTracingContext(): { readonly currentSpan: MastraSpan } {
    const id = (this.#isSending ? this.#loop.callId : null) ?? this.#loop.stepId;
    return {
      currentSpan: id === null ? this.#generation : new MastraSpan(this.#generation, { type: 'model_step' }, id),
    };
  }

  startStep(): void {
    this.#loop.startStep();
  }

  startInference(): void {
    this.#loop.startCall();
    this.#isSending = true;
  }

  /** Called with the HTTP request when the response starts. */
  updateStep({ request }: Fields): void {
    this.#isSending = false;
    this.#loop.setRequest(fieldsOf(request)['body']);
  }

  wrapStream<TStream extends ReadableStream<Fields>>(stream: TStream): TStream {
    return tapStream(stream, {
      take: (chunk) => this.#take(chunk),
      failed: (error) => this.#loop.end({ error }),
      cancelled: () => this.#loop.end({ isAborted: true }),
      ended: () => this.#loop.end({ isAborted: true }),
    }) as TStream;
  }

  reportGenerationError({ error }: Fields): void {
    this.#loop.end({ error });
    steps.end(this.#generation.id, { error });
  }

  endGeneration(): void {
    this.#loop.end();
    steps.end(this.#generation.id);
  }

  updateGeneration(): void {}
  setInferenceContext(): void {}
  setDeferStepClose(): void {}
  exportCurrentStep(): undefined {}
  getPendingStepFinishPayload(): undefined {}
  setStepIndex(index: number): void {
    this.#loop.stepCount = index;
  }
  getStepIndex(): number {
    return this.#loop.stepCount;
  }

  /** Adds a chunk, whose payload has the fields of a stream part of the AI SDK, some under other names. */
  #take({ type, payload }: Fields): void {
    const { text, args, error, metadata, stepResult, output } = fieldsOf(payload);
    this.#loop.take({ ...fieldsOf(payload), type, delta: text, input: args });
    if (type === 'error') this.#loop.end({ error });
    else if (type === 'abort') this.#loop.end({ isAborted: true });
    else if (type === 'step-finish') {
      const { reason, rawReason = reason } = fieldsOf(stepResult);
      this.#loop.take({ ...fieldsOf(metadata), type: 'response-metadata' });
      this.#loop.take({ type: 'finish', finishReason: rawReason, usage: fieldsOf(output)['usage'] });
      this.#loop.end();
    }
  }
}
