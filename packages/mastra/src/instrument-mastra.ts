import { currentRollout } from '@agentlightning/core';
import {
  type RedirectOptions,
  redirectGlobalFetch,
  sharedInstrumentation,
  unsupportedFramework,
} from '@agentlightning/core/adapter';
import { fieldsOf, hasMethod, noteSignal, patchMethods } from '@agentlightning/core/internal';
import { MastraSpan } from './mastra-span.ts';

/** The class `Agent` of `@mastra/core/agent`, in any version. */
export type MastraAgentClass = { readonly prototype: object };

/** Options of {@link instrumentMastra}. */
export type InstrumentMastraOptions = RedirectOptions;

/** Methods that run an agent, with the options as their second argument. */
const methods = ['generate', 'stream', 'network', 'resumeGenerate', 'resumeStream'] as const;

/**
 * Makes all existing and future agents of Mastra in this process traceable and trainable.
 *
 * Outside a rollout nothing changes. Within one, agents, steps, model calls and tool calls are recorded, and model calls are
 * redirected to the rollout's endpoint, if it has one. A second call has no effect: the first options apply until the last
 * undo.
 *
 * @param Agent - the class, from the module that the agents use
 * @returns the undo; safe more than once
 *
 * @example
 * ```ts
 * import { Agent } from '@mastra/core/agent';
 * const undo = instrumentMastra(Agent);
 * ```
 */
export function instrumentMastra(Agent: MastraAgentClass, options: InstrumentMastraOptions = {}): () => void {
  return instrument({ ...options, Agent });
}

const instrument = sharedInstrumentation<InstrumentMastraOptions & { readonly Agent: MastraAgentClass }>(
  'mastra',
  ({ Agent, redirect = true, shouldRedirect }, undos) => {
    const prototype = Agent?.prototype;
    if (!hasMethod(prototype, 'generate')) {
      throw unsupportedFramework('instrumentMastra requires the class Agent of @mastra/core/agent', 'Pass the class.');
    }
    undos.push(
      ...patchMethods(prototype, methods, (original) => {
        return function traced(this: unknown, ...[input, options, ...rest]) {
          return original.call(this, input, tracedOptions(options), ...rest);
        };
      }),
    );
    // Required without redirection too: requests provide the abort signals.
    undos.push(redirectGlobalFetch({ shouldRedirect: redirect ? shouldRedirect : () => false }));
  },
);

/** The options of a run, with a span as the parent of its spans, which then belong to the rollout. */
function tracedOptions(options: unknown): unknown {
  const context = currentRollout();
  const { tracingContext, abortSignal } = fieldsOf(options);
  if (context === null || fieldsOf(tracingContext)['currentSpan'] instanceof MastraSpan) return options;
  noteSignal(context, abortSignal);
  return { ...fieldsOf(options), tracingContext: { currentSpan: new MastraSpan() } };
}
