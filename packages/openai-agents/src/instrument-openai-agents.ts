import type { Clock } from '@agentlightning/core';
import {
  fieldsOf,
  layGlobalFetch,
  layOverOpenAI,
  openAIPrototype,
  quietly,
  type RedirectedFetchOptions,
  sharedInstrumentation,
} from '@agentlightning/core/adapter';
import type { TraceProvider } from './framework.ts';
import { askOtherwise, isFrameworkModule } from './framework-classes.ts';
import { changeTraceProvider } from './global-trace-provider.ts';
import { installedVersion, loadedCopies } from './loaded-copies.ts';
import { listenToProvider, withoutNewProcessors } from './recorded-provider.ts';
import { RolloutUploads } from './rollout-uploads.ts';
import { SpanSteps } from './span-steps.ts';
import { assertSupportedVersion, unsupported } from './supported-version.ts';
import { tracedModelFetch } from './traced-model-fetch.ts';

/** What {@link instrumentOpenAIAgents} can be given. */
export interface InstrumentOpenAIAgentsOptions {
  /**
   * Copies of the framework, and of the `openai` client, that are not found by themselves: those in a bundle, or nested
   * in another package. Each is a module (`import * as agents from '@openai/agents'`), or a class or client of `openai`.
   *
   * @default none: the copies that the process uses are found
   */
  readonly modules?: readonly unknown[];
  /**
   * Whether model calls go to the rollout's endpoint, where it has one. When false, they go where the agent sends them.
   *
   * @default true
   */
  readonly redirect?: boolean;
  /** Which model calls go to the rollout's endpoint: say no to those of a judge. @default all */
  readonly shouldRedirect?: RedirectedFetchOptions['shouldRedirect'];
  /**
   * Which API models speak in a rollout that has an endpoint. `chat_completions` is for gateways that answer no
   * other; tools that only the Responses API has (web search, file search, …) are then refused by the framework.
   *
   * @default 'as_written': the one that the agent uses elsewhere
   */
  readonly api?: 'as_written' | 'chat_completions';
  /**
   * Whether traces of rollouts are uploaded to OpenAI, as the framework does by default where it has a key. Traces made
   * outside of rollouts, and other processors and exporters, are none of our business either way.
   *
   * @default false
   */
  readonly upload?: boolean;
  /** Where the times of spans come from. @default systemClock */
  readonly clock?: Clock;
}

/**
 * Makes every agent of the OpenAI Agents SDK in this process traceable and trainable, as it is written.
 *
 * Within a rollout, agents, turns, model calls, tools, hand-offs and guardrails become spans, and model calls go to the
 * attempt's own address at the gateway, whichever client makes them and whenever it was made. Outside of rollouts nothing
 * changes. It can be called before or after the framework is imported. Instrumenting twice is like once: the options of
 * the first count, and the last undo undoes it. When the installed version, or a module that is passed, is not supported,
 * the process emits one warning with the remedy, and agents run untraced.
 *
 * @returns undoes it; safe more than once
 *
 * @example
 * ```ts
 * instrumentOpenAIAgents();
 * await runRollouts({ store, agent: (task) => run(triage, task.question) });
 * ```
 */
export function instrumentOpenAIAgents(options: InstrumentOpenAIAgentsOptions = {}): () => void {
  return instrument(options);
}

const instrument = sharedInstrumentation<InstrumentOpenAIAgentsOptions>('openai-agents', (options, undos) => {
  const { modules = [], redirect = true, shouldRedirect, upload = false, clock } = options;
  if (modules.length === 0) assertSupportedVersion(installedVersion());
  for (const module of modules) assertKnown(module);
  const uploads = new RolloutUploads();
  let provider: TraceProvider | null = null;
  const change = changerOfCopies(undos, options, (inner) => layer(inner));
  const lookAround = (found: TraceProvider, isAtWork: boolean): void =>
    quietly('Copies of OpenAI Agents are not found', () => {
      for (const module of withoutNewProcessors(found, () => loadedCopies(isAtWork))) change(module);
    });
  const onItem = (item: { readonly traceId: string }): void => {
    if (!upload) uploads.add(item);
  };
  const steps = new SpanSteps({ clock, onItem });
  const spanId = (): string => provider?.getCurrentSpan()?.spanId ?? '';
  const calls = { exchange: () => steps.exchangeOf(spanId()), place: () => steps.placeOf(spanId()) };
  const layer = (inner: typeof fetch): typeof fetch => tracedModelFetch(inner, { calls, redirect, shouldRedirect });
  const listen = (found: TraceProvider): (() => void) => {
    provider = found;
    return listenToProvider(
      found,
      steps,
      once(() => lookAround(found, true)),
    );
  };
  undos.push(
    changeTraceProvider(listen),
    () => uploads.close(),
    layGlobalFetch((inner) => uploads.filter(layer(inner))),
  );
  for (const module of modules) change(module);
  // A rollout may ask a client that was made before, before its first agent works.
  if (provider !== null) lookAround(provider, false);
});

/** Changes a copy of the framework, or of the client, once. */
type ChangeCopy = (module: unknown) => void;

function changerOfCopies(
  undos: (() => void)[],
  { redirect = true, api }: InstrumentOpenAIAgentsOptions,
  layer: (inner: typeof fetch) => typeof fetch,
): ChangeCopy {
  const changed = new Set<unknown>();
  const isNew = (part: unknown): boolean => !changed.has(part) && changed.add(part).has(part);
  return (module) => {
    const prototype = openAIPrototype(module);
    if (prototype !== null && isNew(prototype)) undos.push(layOverOpenAI(prototype, layer));
    if (!redirect || !isFrameworkModule(module) || !isNew(module.OpenAIResponsesModel)) return;
    undos.push(askOtherwise(module, api === 'chat_completions'));
  };
}

function once(run: () => void): () => void {
  let hasRun = false;
  return () => {
    if (hasRun) return;
    hasRun = true;
    run();
  };
}

function assertKnown(module: unknown): void {
  if (isFrameworkModule(module) || openAIPrototype(module) !== null) return;
  throw unsupported(
    `A module that was passed is neither OpenAI Agents nor openai 5 or later: it has ${namesIn(module)}`,
  );
}

function namesIn(module: unknown): string {
  return Object.keys(fieldsOf(module)).slice(0, 5).join(', ') || 'no exports';
}
