import {
  type Attributes,
  exceptionAttributes,
  genAiAttributes,
  type JsonObject,
  type RolloutContext,
} from '@agentlightning/core';
import {
  type AgentStepEnd,
  type AgentSteps,
  type CallPlace,
  modelAnswerAttributes,
  modelRequestAttributes,
} from '@agentlightning/core/adapter';
import { GatheredAnswer } from './gathered-answer.ts';
import type { StreamReader } from './gathered-stream.ts';
import {
  answerAttributes,
  brokenOffAttributes,
  inputMessagesOf,
  type OpenModelCall,
  requestAttributes,
} from './open-model-call.ts';
import { endOf } from './operation-end.ts';
import type { SdkAnswer, SdkEmbedEvent, SdkToolEvent } from './sdk-events.ts';
import { answerOf, plainText } from './sdk-messages.ts';
import { UnplacedCalls } from './unplaced-calls.ts';

/** How an operation begins: one call of `generateText`, `streamText`, `generateObject`, `embed`, … */
export interface OperationStart {
  readonly id: string;
  /** `generateText`. */
  readonly name: string;
  /** The agent that the operation is; null when it has no name. */
  readonly agentName: string | null;
  /** Whether the trace is to have no span of it. @default false */
  readonly isHidden?: boolean;
}

/** How a model call begins. */
export interface ModelCallStart {
  /** As the body of a Chat Completions request. */
  readonly request: JsonObject;
  readonly areInputsRecorded: boolean;
  readonly areOutputsRecorded: boolean;
  /** Whether nobody tells when the request itself is made, so that it must be found by where it is made. */
  readonly isUnplaced: boolean;
  /** See {@link OpenModelCall.maxRetries}. @default null */
  readonly maxRetries?: number;
}

interface Operation {
  readonly id: string;
  stepId: string | null;
  modelCall: OpenModelCall | null;
  modelCalls: number;
  /** Every step of it that is under way, in the order of their beginnings. */
  readonly open: Set<string>;
}

/**
 * The operations of the AI SDK that are under way in rollouts, and what they are doing. Both majors' events, and models
 * that record themselves, end up here.
 */
export class Operations {
  /** Whether models record themselves: the one line is in place. */
  isRecording = false;
  readonly steps: AgentSteps;
  readonly #operations: Map<string, Operation> = new Map();
  readonly #unplaced: UnplacedCalls;
  /** The contexts that requests of recorded model calls are made in. */
  readonly #insideCalls: WeakSet<RolloutContext> = new WeakSet();

  constructor(steps: AgentSteps) {
    this.steps = steps;
    this.#unplaced = new UnplacedCalls(steps);
  }

  /** How many operations are under way. */
  get openCount(): number {
    return this.#operations.size;
  }

  has(id: string | undefined): id is string {
    return id !== undefined && this.#operations.has(id);
  }

  begin({ id, name, agentName, isHidden = false }: OperationStart): void {
    const gathered = (): Attributes => {
      this.#operations.delete(id);
      return {};
    };
    const kind = agentName === null ? 'step' : 'agent';
    this.steps.start({ id, parentId: null, kind, name: agentName ?? name, isHidden, gathered });
    if (!this.steps.has(id)) return;
    this.#operations.set(id, { id, stepId: null, modelCall: null, modelCalls: 0, open: new Set() });
  }

  /** Ends an operation, and what is still open in it. */
  end(id: string, end: AgentStepEnd = {}): void {
    const operation = this.#operations.get(id);
    if (operation === undefined) return;
    this.#operations.delete(id);
    const { attributes: _, ...innerEnd } = end;
    this.#endModelCall(operation, innerEnd);
    for (const stepId of [...operation.open].reverse()) this.steps.end(stepId, innerEnd);
    this.steps.end(id, end);
  }

  beginStep(id: string, stepNumber: number): void {
    const operation = this.#operations.get(id);
    if (operation === undefined) return;
    operation.stepId = `${id}/step/${stepNumber}`;
    this.#start(operation, { id: operation.stepId, parentId: id, kind: 'step', name: `step ${stepNumber + 1}` });
  }

  endStep(id: string, end: AgentStepEnd = {}): void {
    const operation = this.#operations.get(id);
    if (operation === undefined || operation.stepId === null) return;
    this.#endModelCall(operation, end);
    this.#end(operation, operation.stepId, end);
    operation.stepId = null;
  }

  beginModelCall(id: string, start: ModelCallStart): void {
    const operation = this.#operations.get(id);
    if (operation === undefined) return;
    this.#endModelCall(operation);
    const attributes = modelRequestAttributes(start.request);
    const call: OpenModelCall = {
      id: `${id}/model-call/${operation.modelCalls++}`,
      operationId: id,
      maxRetries: start.maxRetries ?? null,
      answer: new GatheredAnswer(),
      inputMessages: inputMessagesOf(attributes),
      areInputsRecorded: start.areInputsRecorded,
      areOutputsRecorded: start.areOutputsRecorded,
      isClaimed: false,
      failures: 0,
    };
    operation.modelCall = call;
    this.#start(operation, {
      id: call.id,
      parentId: operation.stepId ?? id,
      kind: 'model-call',
      name: typeof start.request.model === 'string' ? start.request.model : 'unknown',
      attributes: requestAttributes(call, attributes),
      // Whoever knows how the call ended has cleared this away; otherwise it broke off.
      gathered: () => (operation.modelCall === call ? brokenOffAttributes(call) : {}),
    });
    if (start.isUnplaced) this.#unplaced.add(call);
    const inside = this.steps.rolloutOf(call.id);
    if (inside !== null) this.#insideCalls.add(inside);
  }

  /** Ends the model call of an operation with the answer that the framework tells of. */
  answerModelCall(id: string, answer: SdkAnswer): void {
    const operation = this.#operations.get(id);
    const call = operation?.modelCall ?? null;
    if (operation === undefined || call === null) return;
    operation.modelCall = null;
    const error = call.answer.error;
    this.#end(operation, call.id, {
      attributes: answerAttributes(call, answer),
      ...(error === undefined ? {} : { error }),
    });
  }

  /** The model call that an operation is making; null when it makes none. */
  modelCallOf(id: string | undefined): OpenModelCall | null {
    return (id === undefined ? undefined : this.#operations.get(id)?.modelCall) ?? null;
  }

  /** Whether what happens in this context is the request of a model call that is recorded already. */
  isInModelCall(context: RolloutContext): boolean {
    return this.#insideCalls.has(context);
  }

  /** Notes that a request of a model call failed; the framework may send it again. */
  requestFailed(call: OpenModelCall, error: unknown): void {
    call.failures += 1;
    call.isClaimed = false;
    this.steps.addEvent(call.id, 'request_failed', exceptionAttributes(error, false));
    this.steps.annotate(call.id, { 'http.request.resend_count': call.failures });
    const isOver = call.maxRetries !== null && (call.failures > call.maxRetries || !isRetryable(error));
    if (isOver) this.end(call.operationId, endOf(error));
  }

  /** What follows from how the stream of a model call is read. */
  streamReader(id: string, call: OpenModelCall): StreamReader {
    const whenOpen = (then: (operation: Operation) => void) => (): void => {
      const operation = this.#operations.get(id);
      if (operation?.modelCall === call) then(operation);
    };
    return {
      answer: call.answer,
      failed: (error) => whenOpen((operation) => this.#endModelCall(operation, endOf(error)))(),
      // Nobody asks this operation for more: the framework does not tell of it.
      cancelled: whenOpen((operation) =>
        call.answer.error === undefined ? this.end(operation.id, { isAborted: true }) : this.#endModelCall(operation),
      ),
      ended: whenOpen(() => {
        if (call.answer.isWhole) this.answerModelCall(id, call.answer.toAnswer());
      }),
    };
  }

  /** See {@link UnplacedCalls.claim}. */
  claim(inputMessages: string | null): OpenModelCall | null {
    return this.#unplaced.claim(inputMessages);
  }

  /** See {@link UnplacedCalls.place}. */
  place(): CallPlace | null {
    return this.#unplaced.place();
  }

  beginTool(id: string, { toolCall, recordInputs }: SdkToolEvent): string | null {
    const operation = this.#operations.get(id);
    if (operation === undefined) return null;
    const stepId = toolStepId(id, toolCall.toolCallId);
    this.#start(operation, {
      id: stepId,
      parentId: operation.stepId ?? id,
      kind: 'tool-call',
      name: toolCall.toolName,
      attributes: {
        [genAiAttributes.toolCallId]: toolCall.toolCallId,
        ...(recordInputs === false || toolCall.input === undefined
          ? {}
          : { [genAiAttributes.toolCallArguments]: plainText(toolCall.input) }),
      },
    });
    return stepId;
  }

  endTool(id: string, toolCallId: string, end: { readonly output?: unknown; readonly error?: unknown }): void {
    const operation = this.#operations.get(id);
    if (operation === undefined) return;
    const attributes: Attributes =
      end.output === undefined ? {} : { [genAiAttributes.toolCallResult]: plainText(end.output) };
    this.#end(operation, toolStepId(id, toolCallId), {
      attributes,
      ...(end.error === undefined ? {} : { error: end.error }),
    });
  }

  /** Runs a tool in its place in the trace; just runs it when it is not known. */
  withinTool<TResult>(id: string, toolCallId: string, run: () => TResult): TResult {
    return this.steps.within(toolStepId(id, toolCallId), run);
  }

  beginEmbedding(id: string, { embedCallId, modelId = 'unknown', recordInputs, values }: SdkEmbedEvent): void {
    const operation = this.#operations.get(id);
    if (operation === undefined) return;
    const attributes = recordInputs === false || values === undefined ? {} : { 'ai.values': [...values] };
    this.#start(operation, { id: embedCallId, parentId: id, kind: 'embedding', name: modelId, attributes });
  }

  endEmbedding(id: string, { embedCallId, usage }: SdkEmbedEvent): void {
    const operation = this.#operations.get(id);
    if (operation === undefined) return;
    this.#end(operation, embedCallId, { attributes: modelAnswerAttributes(answerOf({ usage })) });
  }

  #start(operation: Operation, step: Parameters<AgentSteps['start']>[0]): void {
    operation.open.add(step.id);
    this.steps.start(step);
  }

  #end(operation: Operation, id: string, end: AgentStepEnd = {}): void {
    operation.open.delete(id);
    this.steps.end(id, end);
  }

  /** Ends a model call that nobody told the end of, with what has come of it. */
  #endModelCall(operation: Operation, end: AgentStepEnd = {}): void {
    const call = operation.modelCall;
    if (call === null) return;
    const error = end.error ?? call.answer.error;
    this.#end(operation, call.id, { ...end, ...(error === undefined ? {} : { error }) });
    operation.modelCall = null;
  }
}

/** The id that a tool call is recorded by: the model's own ids are not unique. */
export function toolStepId(operationId: string, toolCallId: string): string {
  return `${operationId}/tool-call/${toolCallId}`;
}

/** Whether the AI SDK sends a request again that failed with this error. */
function isRetryable(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'isRetryable' in error && error.isRetryable === true;
}
