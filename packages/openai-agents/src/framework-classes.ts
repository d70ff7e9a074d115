import { currentRollout } from '@agentlightning/core';
import { fieldsOf, hasMethod, type Method, patchMethod } from '@agentlightning/core/adapter';

/** A class of the framework. */
interface FrameworkClass {
  readonly prototype: object;
  new (client: unknown, model: unknown): object;
}

/** The classes of one copy of the framework that are changed. */
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

/** Whether a module object is one of the framework: `import * as agents from '@openai/agents'`. */
export function isFrameworkModule(value: unknown): value is FrameworkClasses {
  return classNames.every((name) => typeof fieldsOf(value)[name] === 'function');
}

/**
 * Lets models that speak the Responses API ask in another way within rollouts that have an endpoint: in Chat Completions,
 * or at least over HTTP where they would use a web socket, which no gateway sees.
 *
 * @returns undoes it
 */
export function askOtherwise(classes: FrameworkClasses, isChatWanted: boolean): () => void {
  const { OpenAIResponsesModel, OpenAIResponsesWSModel, OpenAIChatCompletionsModel } = classes;
  const Other = isChatWanted ? OpenAIChatCompletionsModel : OpenAIResponsesModel;
  const others = new WeakMap<object, object>();
  const otherOf = (model: object): object | null => {
    if ((currentRollout()?.endpoint ?? null) === null) return null;
    if (!isChatWanted && !(model instanceof OpenAIResponsesWSModel)) return null;
    const { _client: client, _model: name } = fieldsOf(model);
    const other = others.get(model) ?? new Other(client, name);
    others.set(model, other);
    return other;
  };
  const undos = (['getResponse', 'getStreamedResponse'] as const).map((name) => {
    const { prototype } = OpenAIResponsesModel;
    if (!hasMethod(prototype, name)) return () => {};
    return patchMethod(prototype, name, (original: Method) => {
      return function (this: unknown, ...args): unknown {
        const other = otherOf(this as object);
        return other !== null && hasMethod(other, name) ? other[name](...args) : original.apply(this, args);
      };
    });
  });
  return () => {
    for (const undo of undos) undo();
  };
}
