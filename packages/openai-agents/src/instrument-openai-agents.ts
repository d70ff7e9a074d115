import type { Clock } from '@agentlightning/core';
import { type RedirectOptions, sharedInstrumentation, wrapOpenAIFetch } from '@agentlightning/core/adapter';
import { fieldsOf, layGlobalFetch, openAIPrototype, quietly } from '@agentlightning/core/internal';
import type { TraceProvider } from './framework.ts';
import { isFrameworkModule, replaceModels } from './framework-classes.ts';
import { patchTraceProvider } from './global-trace-provider.ts';
import { listenToProvider, withoutNewProcessors } from './listen-to-provider.ts';
import { installedVersion, loadedCopies } from './loaded-copies.ts';
import { RolloutUploads } from './rollout-uploads.ts';
import { SpanSteps } from './span-steps.ts';
import { assertSupportedVersion, unsupported } from './supported-version.ts';
import { tracedModelFetch } from './traced-model-fetch.ts';

/** Options of {@link instrumentOpenAIAgents}. */
export interface InstrumentOpenAIAgentsOptions extends RedirectOptions {
  /**
   * Copies of the framework and of the `openai` client that are not found automatically: those in a bundle, or nested in
   * another package. Each is a module (`import * as agents from '@openai/agents'`), or a class or client of `openai`.
   *
   * @default none: the loaded copies are found
   */
  readonly modules?: readonly unknown[];
  /**
   * The API that models use in a rollout with an endpoint. `chat_completions` is for gateways without other APIs; the
   * framework then rejects tools that only the Responses API has (web search, file search, …).
   *
   * @default 'as_written': the API that the agent uses outside rollouts
   */
  readonly api?: 'as_written' | 'chat_completions';
  /**
   * Whether traces of rollouts are uploaded to OpenAI, which the framework does by default if it has a key. Traces outside
   * rollouts, and other processors and exporters, are not affected.
   *
   * @default false
   */
  readonly upload?: boolean;
  /** The clock for span times. @default systemClock */
  readonly clock?: Clock;
}

/**
 * Makes every agent of the OpenAI Agents SDK in this process traceable and trainable, without changes to the agent.
 *
 * Within a rollout, agents, turns, model calls, tools, hand-offs and guardrails become spans, and model calls are sent to
 * the attempt's URL at the gateway, including those of existing clients. Outside a rollout nothing changes. Call it before
 * or after the framework is imported. A second call has no effect: the first options apply until the last undo. If the
 * installed version or a passed module is not supported, the process emits one warning with the remedy, and agents run
 * untraced.
 *
 * @returns the undo; safe more than once
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
  const change = createCopyPatcher(undos, options, (inner) => layer(inner));
  const patchLoadedCopies = (found: TraceProvider, isRunning: boolean): void =>
    quietly('Copies of OpenAI Agents are not found', () => {
      for (const module of withoutNewProcessors(found, () => loadedCopies(isRunning))) change(module);
    });
  const onItem = (item: { readonly traceId: string }): void => {
    if (!upload) uploads.add(item);
  };
  const steps = new SpanSteps({ clock, onItem });
  const spanId = (): string => provider?.getCurrentSpan()?.spanId ?? '';
  const calls = { exchange: () => steps.exchangeOf(spanId()), position: () => steps.positionOf(spanId()) };
  const layer = (inner: typeof fetch): typeof fetch => tracedModelFetch(inner, { calls, redirect, shouldRedirect });
  const listen = (found: TraceProvider): (() => void) => {
    provider = found;
    return listenToProvider(
      found,
      steps,
      once(() => patchLoadedCopies(found, true)),
    );
  };
  undos.push(
    patchTraceProvider(listen),
    () => uploads.close(),
    layGlobalFetch((inner) => uploads.filter(layer(inner))),
  );
  for (const module of modules) change(module);
  // Model calls may precede the first agent of a rollout.
  if (provider !== null) patchLoadedCopies(provider, false);
});

/** Patches a copy of the framework or of the client once. */
type PatchCopy = (module: unknown) => void;

function createCopyPatcher(
  undos: (() => void)[],
  { redirect = true, api }: InstrumentOpenAIAgentsOptions,
  layer: (inner: typeof fetch) => typeof fetch,
): PatchCopy {
  const changed = new Set<unknown>();
  const isNew = (part: unknown): boolean => !changed.has(part) && changed.add(part).has(part);
  return (module) => {
    const prototype = openAIPrototype(module);
    if (prototype !== null && isNew(prototype)) undos.push(wrapOpenAIFetch(prototype, layer));
    if (!redirect || !isFrameworkModule(module) || !isNew(module.OpenAIResponsesModel)) return;
    undos.push(...replaceModels(module, api === 'chat_completions'));
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
    `Unsupported module: its exports are ${namesIn(module)}, not those of OpenAI Agents or openai 5 and later`,
  );
}

function namesIn(module: unknown): string {
  return Object.keys(fieldsOf(module)).slice(0, 5).join(', ') || 'no exports';
}
