import { currentRollout } from '@agentlightning/core';
import {
  fieldsOf,
  hasFields,
  hasMethod,
  iterateWithin,
  type Method,
  noteSignal,
  patchMethod,
} from '@agentlightning/core/adapter';
import type { AgentLightningCallbackHandler } from './callback-handler.ts';
import { handlerName } from './callback-handler.ts';
import type { LangChainRuns, ModelCallScope } from './langchain-runs.ts';

/** What is put into a copy of LangChain. */
export interface LangChainPatch {
  readonly runs: LangChainRuns;
  readonly handler: AgentLightningCallbackHandler;
}

/** What we use of LangChain's callback managers. */
interface CallbackManagerLike {
  readonly handlers: readonly { readonly name?: unknown }[];
  copy(): CallbackManagerLike & { addHandler(handler: unknown, inherit: boolean): void };
}

/**
 * Patches one module of one copy of `@langchain/core`: whatever it has of the classes that runs go through.
 *
 * @param module - `callbacks/manager`, `language_models/chat_models` or `singletons`
 * @returns what undoes each patch; empty when it has none of the classes in a form that is known
 */
export function patchModule(module: unknown, patch: LangChainPatch): readonly (() => void)[] {
  const { CallbackManager, AsyncLocalStorageProviderSingleton, BaseChatModel } = fieldsOf(module);
  const { prototype } = fieldsOf(BaseChatModel);
  return [
    ...patched(CallbackManager, '_configureSync', (original) => configureSync(original, patch)),
    ...patched(AsyncLocalStorageProviderSingleton, 'runWithConfig', (original) => inRun(original, patch)),
    ...patched(prototype, '_generateUncached', (original) => inModelCall(original, patch)),
    ...patched(prototype, '_streamIterator', (original) => inStream(original, patch)),
  ];
}

function patched(holder: unknown, name: string, wrap: (original: Method) => Method): readonly (() => void)[] {
  return hasMethod(holder, name) ? [patchMethod(holder, name, wrap)] : [];
}

/** Every run of every kind asks this method whom to tell; the first argument is whom everything inside tells too. */
function configureSync(original: Method, { handler }: LangChainPatch): Method {
  return function (this: unknown, inherited, ...rest): unknown {
    // Outside of rollouts there is nothing to tell, and nothing to pay for.
    if (currentRollout() === null) return original.call(this, inherited, ...rest);
    return original.call(this, told(inherited, handler), ...rest);
  };
}

/** The same callbacks and ours. Never into the user's own list, which may be that of other runs. */
function told(callbacks: unknown, handler: AgentLightningCallbackHandler): unknown {
  if (callbacks === undefined || callbacks === null) return [handler];
  const present: readonly unknown[] = Array.isArray(callbacks) ? callbacks : managerOf(callbacks).handlers;
  if (present.some((other) => fieldsOf(other).name === handlerName)) return callbacks;
  if (Array.isArray(callbacks)) return [...callbacks, handler];
  const copy = managerOf(callbacks).copy();
  copy.addHandler(handler, true);
  return copy;
}

/** What is passed as callbacks is a list or a manager. */
function managerOf(callbacks: unknown): CallbackManagerLike {
  return callbacks as CallbackManagerLike;
}

/** Nodes, tools and functions run through here, with the callbacks of the run that they are. */
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
    // Of a model with a cache the run is told of before the cache is asked.
    const started = args[3];
    const runId = Array.isArray(started) ? fieldsOf(started[0]).runId : null;
    const scope: ModelCallScope = { runId: typeof runId === 'string' ? runId : null };
    const isBatch = Array.isArray(args[0]) && args[0].length > 1;
    const model = isBatch ? placingEachPrompt(this, runs) : this;
    return runs.withinModelCall(scope, () => original.apply(model, args));
  };
}

/** The same model for a call with several prompts: each of them is a run, and a request, of its own. */
function placingEachPrompt(model: unknown, runs: LangChainRuns): unknown {
  if (!hasFields(model) || !hasMethod(model, '_generate')) return model;
  const { _generate: generate } = model;
  const placed = (...args: unknown[]): unknown => {
    const { runId } = fieldsOf(args[2]);
    const scope: ModelCallScope = { runId: typeof runId === 'string' ? runId : null };
    return runs.withinModelCall(scope, () => generate.apply(model, args));
  };
  return new Proxy(model, {
    get: (target, name) => {
      if (name === '_generate') return placed;
      const value: unknown = Reflect.get(target, name, target);
      // Bound, as the methods of a class may use its private fields.
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function inStream(original: Method, { runs }: LangChainPatch): Method {
  return function (this: unknown, ...args): unknown {
    const pieces = original.apply(this, args) as AsyncGenerator<unknown>;
    return streamOf(pieces, runs);
  };
}

/** The same pieces, each asked for within the model call. LangChain tells nobody when a stream is broken off. */
async function* streamOf(pieces: AsyncGenerator<unknown>, runs: LangChainRuns): AsyncGenerator<unknown> {
  const scope: ModelCallScope = { runId: null };
  let last: unknown;
  try {
    for await (const piece of iterateWithin(pieces, (run) => runs.withinModelCall(scope, run))) {
      last = piece;
      yield piece;
    }
  } finally {
    runs.breakOff(scope, last);
  }
}
