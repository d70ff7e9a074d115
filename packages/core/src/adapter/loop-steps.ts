import { newSpanId } from '../base/id.ts';
import { parseObject } from '../base/json-access.ts';
import { plainText } from '../spans/unknown-value.ts';
import type { AgentStepEnd } from './agent-step.ts';
import type { AgentSteps } from './agent-steps.ts';
import { modelRequestAttributes, modelResponseAttributes } from './responses/model-call-attributes.ts';
import { partsResponseBody } from './responses/parts-response.ts';
import { StreamedParts } from './responses/streamed-parts.ts';

/** Options of {@link LoopSteps}. */
export interface LoopStepsOptions {
  /** Step that contains the loop, usually the agent's. */
  readonly parentId: string;
  readonly model: string;
}

/**
 * Records the loop of an agent: steps, each with a model call whose response arrives as stream parts of the AI SDK. A call
 * whose end is not reported has the part of the response that was received.
 *
 * @example
 * ```ts
 * const loop = new LoopSteps(steps, { parentId: agentId, model: 'tiny' });
 * loop.startStep();
 * loop.startCall();
 * for await (const part of stream) loop.take(part);
 * loop.end();
 * ```
 */
export class LoopSteps {
  readonly #steps: AgentSteps;
  readonly #options: LoopStepsOptions;
  #stepId: string | null = null;
  #callId: string | null = null;
  #response: StreamedParts = new StreamedParts();
  /** Number of started steps; a resumed loop continues at another number. */
  stepCount: number = 0;

  constructor(steps: AgentSteps, options: LoopStepsOptions) {
    this.#steps = steps;
    this.#options = options;
  }

  /** Id of the current step; null between steps. */
  get stepId(): string | null {
    return this.#stepId;
  }

  /** Id of the model call in progress; null without one. */
  get callId(): string | null {
    return this.#callId;
  }

  /** Starts the next step, and ends the current one. */
  startStep(): void {
    this.end();
    this.stepCount += 1;
    this.#stepId = newSpanId();
    const name = `step ${this.stepCount}`;
    this.#steps.start({ id: this.#stepId, parentId: this.#options.parentId, kind: 'step', name });
  }

  /** Starts the model call of the current step. */
  startCall(): void {
    const response = new StreamedParts();
    this.#response = response;
    this.#callId = newSpanId();
    this.#steps.start({
      id: this.#callId,
      parentId: this.#stepId ?? this.#options.parentId,
      kind: 'model-call',
      name: this.#options.model,
      gathered: () => modelResponseAttributes(partsResponseBody(response.toResponse())),
    });
  }

  /** Records the request of the model call in progress. @param body - a JSON object or its text; others are ignored */
  setRequest(body: unknown): void {
    const request = parseObject(plainText(body ?? ''));
    if (this.#callId !== null && request !== null) {
      this.#steps.annotate(this.#callId, modelRequestAttributes(request));
    }
  }

  /** Adds a stream part of the response. */
  take(part: unknown): void {
    this.#response.take(part);
  }

  /** Ends the current step, and its model call with an error or as aborted, if given. */
  end(end: AgentStepEnd = {}): void {
    if (this.#callId !== null) this.#steps.end(this.#callId, end);
    if (this.#stepId !== null) this.#steps.end(this.#stepId);
    this.#callId = null;
    this.#stepId = null;
  }
}
