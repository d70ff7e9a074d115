import type { AgentLightningError } from '@agentlightning/core';
import {
  type RedirectedFetchOptions,
  type RedirectOptions,
  redirectedFetch,
  redirectGlobalFetch,
  sharedInstrumentation,
  unsupportedFramework,
  wrapOpenAIFetch,
} from '@agentlightning/core/adapter';
import { fieldsOf, installedVersion, openAIPrototype } from '@agentlightning/core/internal';
import type { BaseCallbackHandler } from '@langchain/core/callbacks/base';
import * as managerModule from '@langchain/core/callbacks/manager';
import { AgentLightningCallbackHandler } from './callback-handler.ts';
import { langchainModules, openAIClasses } from './installed-copies.ts';
import { patchModule } from './langchain-module.ts';
import { LangChainRuns } from './langchain-runs.ts';

/** Options of {@link instrumentLangChain}. */
export interface InstrumentLangChainOptions extends RedirectOptions {
  /**
   * Copies of LangChain that are not found automatically, such as one nested in another package: the result of
   * importing their `@langchain/core/callbacks/manager`.
   *
   * @default none: the copies of this package and of the program are found, as ES modules and as CommonJS
   */
  readonly modules?: readonly unknown[];
}

/** Created on first use: importing this package has no side effects. */
let sharedRuns: LangChainRuns | null = null;
let sharedHandler: AgentLightningCallbackHandler | null = null;

/**
 * Makes every LangChain and LangGraph agent in this process traceable and trainable, without changes to the agent.
 *
 * Within a rollout, graphs, nodes, tools, retrievers and model calls become spans, and model calls are sent to the
 * attempt's URL at the gateway, including those of existing models. Outside a rollout nothing changes. A second call has
 * no effect: the first options apply until the last undo. If the installed version or a passed module is not supported,
 * the process emits one warning with the remedy, and agents run untraced.
 *
 * @returns the undo; safe more than once
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
 * A handler that traces only the runs it is passed to, and does not redirect model calls. It has no effect in addition to
 * {@link instrumentLangChain}.
 *
 * @example
 * ```ts
 * await graph.invoke(input, { callbacks: [traceCallbacks()] });
 * ```
 */
export function traceCallbacks(): BaseCallbackHandler {
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
    // Only the manager module is required. The others improve the parent of nested spans.
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
    if (redirect) undos.push(...redirectCalls({ shouldRedirect, position: () => patch.runs.positionOfCall() }));
  },
);

/** Patches the global `fetch`, and the `openai` classes for clients that have already read it. */
function redirectCalls(options: Omit<RedirectedFetchOptions, 'fetch'>): readonly (() => void)[] {
  const prototypes = openAIClasses().map(openAIPrototype);
  return [
    redirectGlobalFetch(options),
    ...prototypes
      .filter((prototype) => prototype !== null)
      .map((prototype) => wrapOpenAIFetch(prototype, (inner) => redirectedFetch({ ...options, fetch: inner }))),
  ];
}

/** The error for a module without the known class that executes runs. */
function unsupportedLangChain(module: unknown, version: string | null): AgentLightningError {
  const names = Object.keys(fieldsOf(module)).slice(0, 3).join(', ');
  const found = version === null ? `a module with the exports: ${names || 'none'}` : `@langchain/core ${version}`;
  return unsupportedFramework(
    `Cannot trace runs of ${found}. Supported are @langchain/core 0.3.80 and later, and 1.x.`,
    "Install one of these versions, or pass `await import('@langchain/core/callbacks/manager')` as one of `modules`.",
  );
}
