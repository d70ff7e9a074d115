import type { AgentStepEnd, AgentStepKind } from '../../src/adapter/agent-step.ts';
import { AgentSteps } from '../../src/adapter/agent-steps.ts';
import { redirectGlobalFetch } from '../../src/adapter/global-fetch.ts';
import { modelRequestAttributes, modelResponseAttributes } from '../../src/adapter/responses/model-call-attributes.ts';
import type { JsonObject } from '../../src/base/json.ts';
import { isObject, textOf } from '../../src/base/json-access.ts';
import type { Attributes } from '../../src/spans/span.ts';
import { genAiAttributes, modelCallAttributes } from '../../src/spans/span-attributes.ts';
import { listeners, type ToyEvent, type ToyListener } from './toy-framework.ts';

const kinds: Readonly<Record<ToyEvent['kind'], AgentStepKind>> = {
  agent: 'agent',
  turn: 'step',
  model: 'model-call',
  tool: 'tool-call',
  embedding: 'embedding',
};

/** A process-wide listener that records steps, as in a real adapter. */
class ToyRecorder implements ToyListener {
  readonly #steps = new AgentSteps({ framework: 'toy' });
  readonly #texts: Map<string, string> = new Map();

  on(event: ToyEvent): void {
    const { id, phase } = event;
    if (phase === 'start') this.#start(event);
    else if (phase === 'token') this.#texts.set(id, `${this.#texts.get(id) ?? ''}${event.data}`);
    else if (phase === 'error') {
      const isAborted = event.data instanceof Error && event.data.constructor.name === 'APIUserAbortError';
      this.#steps.end(id, { error: event.data, isAborted });
    } else this.#end(event);
  }

  around<TResult>(id: string, run: () => TResult): TResult {
    return this.#steps.within(id, run);
  }

  #start({ id, parentId, kind, name, data }: ToyEvent): void {
    const gathered = (): Attributes => this.#gathered(id);
    const attributes =
      kind === 'model' ? modelRequestAttributes(plain(data)) : kind === 'tool' ? toolAttributes(data) : {};
    this.#steps.start({ id, parentId, kind: kinds[kind], name, attributes, gathered });
  }

  #end({ id, kind, data }: ToyEvent): void {
    this.#steps.end(id, kind === 'model' ? modelEnd(plain(data)) : kind === 'tool' ? toolEnd(data) : {});
    this.#texts.delete(id);
  }

  /** Partial output of a stream without a regular end. */
  #gathered(id: string): Attributes {
    const content = this.#texts.get(id);
    this.#texts.delete(id);
    if (content === undefined) return {};
    return modelResponseAttributes({ choices: [{ message: { role: 'assistant', content } }] });
  }
}

function toolAttributes(call: unknown): Attributes {
  const { id, function: target } = plain(call);
  return {
    [genAiAttributes.toolCallId]: textOf(id) ?? '',
    [genAiAttributes.toolCallArguments]: (isObject(target) ? textOf(target.arguments) : null) ?? '',
  };
}

function toolEnd(result: unknown): AgentStepEnd {
  return { attributes: { [genAiAttributes.toolCallResult]: String(result) } };
}

function modelEnd(answer: JsonObject): AgentStepEnd {
  const cached: Attributes = answer.cached === true ? { [modelCallAttributes.isCached]: true } : {};
  return { attributes: { ...modelResponseAttributes(answer), ...cached }, isAborted: answer.id === '' };
}

function plain(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value));
}

const recorder = new ToyRecorder();
let users = 0;

/** Instruments the toy framework. */
export function instrumentToy({ redirect }: { readonly redirect: boolean }): () => void {
  users += 1;
  listeners.add(recorder);
  const undoFetch = redirect ? redirectGlobalFetch() : () => {};
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    undoFetch();
    users -= 1;
    if (users === 0) listeners.delete(recorder);
  };
}
