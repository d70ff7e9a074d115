import {
  installedVersion,
  layOverOpenAI,
  openAIPrototype,
  type RedirectedFetchOptions,
  redirectedFetch,
  redirectGlobalFetch,
  sharedInstrumentation,
} from '@agentlightning/core/adapter';
import type { BaseCallbackHandler } from '@langchain/core/callbacks/base';
import * as managerModule from '@langchain/core/callbacks/manager';
import { AgentLightningCallbackHandler } from './callback-handler.ts';
import { langchainModules, openAIClasses } from './installed-copies.ts';
import { patchModule } from './langchain-module.ts';
import { LangChainRuns } from './langchain-runs.ts';
import { unsupportedLangChain } from './unsupported-langchain.ts';

/** What {@link instrumentLangChain} can be given. */
export interface InstrumentLangChainOptions {
  /**
   * Copies of LangChain that are not found by themselves, such as one that is nested in another package: what
   * importing their `@langchain/core/callbacks/manager` gives.
   *
   * @default none: the copies of this package and of the program, as ES modules and as CommonJS, are found
   */
  readonly modules?: readonly unknown[];
  /**
   * Whether model calls go to the rollout's endpoint, where it has one. When false, they go where the agent sends
   * them.
   *
   * @default true
   */
  readonly redirect?: boolean;
  /** Which model calls go to the rollout's endpoint: say no to those of a judge. @default all */
  readonly shouldRedirect?: (call: { readonly url: URL; readonly model: string | null }) => boolean;
}

/** Made when it is first needed: importing this package does nothing. */
let sharedRuns: LangChainRuns | null = null;
let sharedHandler: AgentLightningCallbackHandler | null = null;

/**
 * Makes every agent of LangChain and LangGraph in this process traceable and trainable, as it is written.
 *
 * Within a rollout, graphs, nodes, tools, retrievers and model calls become spans, and model calls go to the
 * attempt's own address at the gateway, also those of models that were made before. Outside of rollouts nothing
 * changes. Instrumenting twice is like once: the options of the first count, and the last undo undoes it. When the
 * installed version, or a module that is passed, is not supported, the process emits one warning with the remedy, and
 * agents run untraced.
 *
 * @returns undoes it; safe more than once
 *
 * @example
 * ```ts
 * instrumentLangChain();
 * await runRollouts({ store, agent: (task) => graph.invoke({ messages: task.messages }) });
 * ```
 */
export function instrumentLangChain(options: InstrumentLangChainOptions = {}): () => void {
  return instrument(options);
}

/**
 * A handler that traces the runs it is passed to, for those who would rather say so: model calls are not redirected
 * by it. Beside {@link instrumentLangChain} it changes nothing.
 *
 * @example
 * ```ts
 * await graph.invoke(input, { callbacks: [agentLightningCallbackHandler()] });
 * ```
 */
export function agentLightningCallbackHandler(): BaseCallbackHandler {
  return handler();
}

function handler(): AgentLightningCallbackHandler {
  sharedHandler ??= new AgentLightningCallbackHandler(runs());
  return sharedHandler;
}

function runs(): LangChainRuns {
  sharedRuns ??= new LangChainRuns();
  return sharedRuns;
}

const instrument = sharedInstrumentation<InstrumentLangChainOptions>(
  'langchain',
  ({ modules = [], redirect = true, shouldRedirect }, undos) => {
    const patch = { runs: runs(), handler: handler() };
    // What runs cannot be told of without. Other modules only make places more exact.
    const required = [...modules, managerModule];
    for (const module of new Set([...required, ...langchainModules()])) {
      const patches = patchModule(module, patch);
      undos.push(...patches);
      if (patches.length > 0 || !required.includes(module)) continue;
      throw unsupportedLangChain(
        module,
        module === managerModule ? installedVersion('@langchain/core', import.meta.url) : null,
      );
    }
    if (redirect) undos.push(...redirectCalls({ shouldRedirect, place: () => patch.runs.placeOfCall() }));
  },
);

/** By the global `fetch` for clients that look it up, by the class of the `openai` client for those that did before. */
function redirectCalls(options: Omit<RedirectedFetchOptions, 'fetch'>): readonly (() => void)[] {
  const prototypes = openAIClasses().map(openAIPrototype);
  return [
    redirectGlobalFetch(options),
    ...prototypes
      .filter((prototype) => prototype !== null)
      .map((prototype) => layOverOpenAI(prototype, (inner) => redirectedFetch({ ...options, fetch: inner }))),
  ];
}
