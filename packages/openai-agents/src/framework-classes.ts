import { currentRollout } from '@agentlightning/core';
import { fieldsOf, patchMethods } from '@agentlightning/core/internal';

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
 * @returns the undos
 */
export function replaceModels(classes: FrameworkClasses, isChatWanted: boolean): readonly (() => void)[] {
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
  return patchMethods(OpenAIResponsesModel.prototype, ['getResponse', 'getStreamedResponse'], (original, name) => {
    return function (this: unknown, ...args): unknown {
      const other = replacementOf(this as object);
      const replacement = other === null ? undefined : fieldsOf(other)[name];
      return typeof replacement === 'function' ? replacement.apply(other, args) : original.apply(this, args);
    };
  });
}
