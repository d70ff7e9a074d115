import { currentRollout } from '@agentlightning/core';
import { fieldsOf, hasMethod, type Method, patchMethod } from '@agentlightning/core/adapter';

/** A class of the framework. */
interface FrameworkClass {
  readonly prototype: object;
  new (client: unknown, model: unknown): object;
}

/** The patched classes of one copy of the framework. */
export interface FrameworkClasses {
  readonly OpenAIResponsesModel: FrameworkClass;
  readonly OpenAIResponsesWSModel: FrameworkClass;
  readonly OpenAIChatCompletionsModel: FrameworkClass;
}

const classNames = [
  'OpenAIResponsesModel',
  'OpenAIResponsesWSModel',
  'OpenAIChatCompletionsModel',
] as const satisfies (keyof FrameworkClasses)[];

/** Whether a value is a module of the framework: `import * as agents from '@openai/agents'`. */
export function isFrameworkModule(value: unknown): value is FrameworkClasses {
  return classNames.every((name) => typeof fieldsOf(value)[name] === 'function');
}

/**
 * Replaces Responses API models within rollouts with an endpoint: with Chat Completions models, or, for web socket models,
 * with models that use HTTP, because a gateway does not see web sockets.
 *
 * @returns the undo
 */
export function replaceModels(classes: FrameworkClasses, isChatWanted: boolean): () => void {
  const { OpenAIResponsesModel, OpenAIResponsesWSModel, OpenAIChatCompletionsModel } = classes;
  const Replacement = isChatWanted ? OpenAIChatCompletionsModel : OpenAIResponsesModel;
  const others = new WeakMap<object, object>();
  const replacementOf = (model: object): object | null => {
    if ((currentRollout()?.endpoint ?? null) === null) return null;
    if (!isChatWanted && !(model instanceof OpenAIResponsesWSModel)) return null;
    const { _client: client, _model: name } = fieldsOf(model);
    const other = others.get(model) ?? new Replacement(client, name);
    others.set(model, other);
    return other;
  };
  const undos = (['getResponse', 'getStreamedResponse'] as const).map((name) => {
    const { prototype } = OpenAIResponsesModel;
    if (!hasMethod(prototype, name)) return () => {};
    return patchMethod(prototype, name, (original: Method) => {
      return function (this: unknown, ...args): unknown {
        const other = replacementOf(this as object);
        return other !== null && hasMethod(other, name) ? other[name](...args) : original.apply(this, args);
      };
    });
  });
  return () => {
    for (const undo of undos) undo();
  };
}
