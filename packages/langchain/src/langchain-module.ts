import { currentRollout } from '@agentlightning/core';
import { iterateWithin, type Method } from '@agentlightning/core/adapter';
import { fieldsOf, hasFields, hasMethod, noteSignal, patchMethods, withMembers } from '@agentlightning/core/internal';
import type { AgentLightningCallbackHandler } from './callback-handler.ts';
import { handlerName } from './callback-handler.ts';
import type { LangChainRuns, ModelCallScope } from './langchain-runs.ts';

/** The state that patches of a LangChain copy use. */
export interface LangChainPatch {
  readonly runs: LangChainRuns;
  readonly handler: AgentLightningCallbackHandler;
}

/** The fields that are read of LangChain's callback managers. */
interface CallbackManagerLike {
  readonly handlers: readonly { readonly name?: unknown }[];
  copy(): CallbackManagerLike & { addHandler(handler: unknown, inherit: boolean): void };
}

/**
 * Patches the classes that execute runs in one module of one copy of `@langchain/core`.
 *
 * @param module - `callbacks/manager`, `language_models/chat_models` or `singletons`
 * @returns the undo of each patch; empty if the module has no known class
 */
export function patchModule(module: unknown, patch: LangChainPatch): readonly (() => void)[] {
  const { CallbackManager, AsyncLocalStorageProviderSingleton, BaseChatModel } = fieldsOf(module);
  const { prototype } = fieldsOf(BaseChatModel);
  return [
    ...patchMethods(CallbackManager, ['_configureSync'], (original) => configureSync(original, patch)),
    ...patchMethods(AsyncLocalStorageProviderSingleton, ['runWithConfig'], (original) => inRun(original, patch)),
    ...patchMethods(prototype, ['_generateUncached'], (original) => inModelCall(original, patch)),
    ...patchMethods(prototype, ['_streamIterator'], (original) => inStream(original, patch)),
  ];
}

/** LangChain calls this method for every run to get its callbacks; the first argument are the inherited ones. */
function configureSync(original: Method, { handler }: LangChainPatch): Method {
  return function (this: unknown, inherited, ...rest): unknown {
    // Outside a rollout the callbacks stay unchanged, at no cost.
    if (currentRollout() === null) return original.call(this, inherited, ...rest);
    return original.call(this, withHandler(inherited, handler), ...rest);
  };
}

/** Adds the handler to a copy of the callbacks: the user's list may be shared with other runs. */
function withHandler(callbacks: unknown, handler: AgentLightningCallbackHandler): unknown {
  if (callbacks === undefined || callbacks === null) return [handler];
  const present: readonly unknown[] = Array.isArray(callbacks) ? callbacks : managerOf(callbacks).handlers;
  if (present.some((other) => fieldsOf(other).name === handlerName)) return callbacks;
  if (Array.isArray(callbacks)) return [...callbacks, handler];
  const copy = managerOf(callbacks).copy();
  copy.addHandler(handler, true);
  return copy;
}

/** Callbacks are a list or a manager. */
function managerOf(callbacks: unknown): CallbackManagerLike {
  return callbacks as CallbackManagerLike;
}

/** Nodes, tools and functions run through this method, with the callbacks of their run. */
function inRun(original: Method, { runs }: LangChainPatch): Method {
  return function (this: unknown, ...args): unknown {
    const [config, callback, ...rest] = args;
    const { callbacks, signal } = fieldsOf(config);
    const context = currentRollout();
    if (context !== null) noteSignal(context, signal);
    const runId = hasMethod(callbacks, 'getParentRunId') ? callbacks.getParentRunId() : undefined;
    if (typeof runId !== 'string' || typeof callback !== 'function') return original.apply(this, args);
    return original.call(this, config, () => runs.within(runId, () => callback()), ...rest);
  };
}

function inModelCall(original: Method, { runs }: LangChainPatch): Method {
  return function (this: unknown, ...args): unknown {
    // A model with a cache starts its run before the cache lookup.
    const started = args[3];
    const runId = Array.isArray(started) ? fieldsOf(started[0]).runId : null;
    const scope: ModelCallScope = { runId: typeof runId === 'string' ? runId : null };
    const isBatch = Array.isArray(args[0]) && args[0].length > 1;
    const model = isBatch ? withPromptScopes(this, runs) : this;
    return runs.withinModelCall(scope, () => original.apply(model, args));
  };
}

/** A model proxy for a call with several prompts: each prompt is a separate run and request. */
function withPromptScopes(model: unknown, runs: LangChainRuns): unknown {
  if (!hasFields(model) || !hasMethod(model, '_generate')) return model;
  const { _generate: generate } = model;
  const generatePrompt = (...args: unknown[]): unknown => {
    const { runId } = fieldsOf(args[2]);
    const scope: ModelCallScope = { runId: typeof runId === 'string' ? runId : null };
    return runs.withinModelCall(scope, () => generate.apply(model, args));
  };
  return withMembers(model, { _generate: generatePrompt });
}

function inStream(original: Method, { runs }: LangChainPatch): Method {
  return function (this: unknown, ...args): unknown {
    const chunks = original.apply(this, args) as AsyncGenerator<unknown>;
    return streamOf(chunks, runs);
  };
}

/** Iterates a stream within its model call. LangChain does not report a cancelled stream. */
async function* streamOf(chunks: AsyncGenerator<unknown>, runs: LangChainRuns): AsyncGenerator<unknown> {
  const scope: ModelCallScope = { runId: null };
  let last: unknown;
  try {
    for await (const chunk of iterateWithin(chunks, (run) => runs.withinModelCall(scope, run))) {
      last = chunk;
      yield chunk;
    }
  } finally {
    runs.endCancelledStream(scope, last);
  }
}
