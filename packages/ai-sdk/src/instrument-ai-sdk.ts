import {
  installedVersion,
  type RedirectedFetchOptions,
  redirectGlobalFetch,
  sharedInstrumentation,
} from '@agentlightning/core/adapter';
import type { AgentNaming } from './agent-naming.ts';
import { operations } from './recorded-operations.ts';
import { type LanguageModelProvider, provideStringModels } from './string-models.ts';
import { assertSupportedVersion } from './supported-version.ts';
import { AISDKTelemetry } from './telemetry.ts';
import { followChannel } from './telemetry-channel.ts';

/** What {@link instrumentAISDK} can be given. */
export interface InstrumentAISDKOptions {
  /**
   * Whether model calls go to the rollout's endpoint, where it has one. When false, they go where the agent sends them,
   * and are traced without tokens.
   *
   * @default true
   */
  readonly redirect?: boolean;
  /** Which model calls go to the rollout's endpoint: say no to those of a judge. @default all */
  readonly shouldRedirect?: RedirectedFetchOptions['shouldRedirect'];
  /**
   * Names the agent that a call of `generateText` or the like is the work of; null for a call that is only a step of
   * whatever is around it.
   *
   * @default the call's `telemetry.functionId`
   */
  readonly agentName?: AgentNaming;
  /**
   * Where models that are named by a text (`model: 'openai/gpt-5'`) come from in rollouts with an endpoint: a provider
   * that speaks Chat Completions. Without it they go to Vercel's AI Gateway, which cannot be redirected.
   *
   * @default what they come from outside of rollouts
   */
  readonly stringModels?: LanguageModelProvider;
}

/** The telemetry integrations of the AI SDK, of both majors, and of every copy that is loaded. */
interface TelemetryHolder {
  AI_SDK_TELEMETRY_INTEGRATIONS?: unknown[] | undefined;
}

/**
 * Makes every agent on the Vercel AI SDK in this process traceable and trainable, of version 6 and 7, made before or after.
 *
 * Outside of rollouts nothing changes. In one, its operations are recorded as agents, steps, model calls and tool calls,
 * and its model calls go to the rollout's endpoint, where it has one. Doing it twice is doing it once: the options of the first
 * count, and the last undo undoes it. When the installed version is not supported, the process emits one warning with the
 * remedy, and agents run untraced.
 *
 * @returns undoes it, exactly; safe more than once
 *
 * @example
 * ```ts
 * const undo = instrumentAISDK();
 * await generateText({ model, prompt, telemetry: { functionId: 'writer' } });
 * ```
 */
export function instrumentAISDK(options: InstrumentAISDKOptions = {}): () => void {
  return instrument(options);
}

const instrument = sharedInstrumentation<InstrumentAISDKOptions>('ai-sdk', (options, undos) => {
  assertSupportedVersion(installedVersion('ai', import.meta.url));
  const { agentName = ({ functionId }) => functionId, redirect = true, shouldRedirect, stringModels } = options;
  const recording = { operations, naming: agentName, isRedirecting: redirect };
  undos.push(addIntegration(globalThis, new AISDKTelemetry(recording)), followChannel(recording), letModelsRecord());
  // Without redirection, too: abort signals are known by the requests that have them.
  const isRedirected = redirect ? shouldRedirect : () => false;
  undos.push(redirectGlobalFetch({ shouldRedirect: isRedirected, place: () => operations.unplaced.place() }));
  if (redirect && stringModels !== undefined) undos.push(provideStringModels(stringModels));
});

function addIntegration(holder: typeof globalThis & TelemetryHolder, integration: object): () => void {
  const own = holder.AI_SDK_TELEMETRY_INTEGRATIONS === undefined;
  const list = holder.AI_SDK_TELEMETRY_INTEGRATIONS ?? [];
  holder.AI_SDK_TELEMETRY_INTEGRATIONS = list;
  // The first: version 6 awaits the one before, and what is entered after an await has no effect on the operation.
  list.unshift(integration);
  return () => {
    const index = list.indexOf(integration);
    if (index >= 0) list.splice(index, 1);
    const isLeftEmpty = own && list.length === 0 && holder.AI_SDK_TELEMETRY_INTEGRATIONS === list;
    if (isLeftEmpty) delete holder.AI_SDK_TELEMETRY_INTEGRATIONS;
  };
}

function letModelsRecord(): () => void {
  operations.isRecording = true;
  return () => {
    operations.isRecording = false;
  };
}
