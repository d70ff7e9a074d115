import { type RedirectOptions, redirectGlobalFetch, sharedInstrumentation } from '@agentlightning/core/adapter';
import { installedVersion } from '@agentlightning/core/internal';
import type { AgentNaming } from './agent-naming.ts';
import { operations } from './recorded-operations.ts';
import { type LanguageModelProvider, provideStringModels } from './string-models.ts';
import { assertSupportedVersion } from './supported-version.ts';
import { AISDKTelemetry } from './telemetry.ts';
import { subscribeToChannel } from './telemetry-channel.ts';

/** Options of {@link instrumentAISDK}. */
export interface InstrumentAISDKOptions extends RedirectOptions {
  /**
   * Returns the agent name of a call of `generateText` or a similar function; null for a call that is only a step of the
   * enclosing agent.
   *
   * @default the call's `telemetry.functionId`
   */
  readonly agentName?: AgentNaming;
  /**
   * The provider of models given as a string (`model: 'openai/gpt-5'`) in rollouts with an endpoint. It must use Chat
   * Completions. Without it they are requested from Vercel's AI Gateway, which cannot be redirected.
   *
   * @default the default provider outside rollouts
   */
  readonly stringModels?: LanguageModelProvider;
}

/** The global telemetry integrations of the AI SDK, shared by all versions and loaded copies. */
interface TelemetryHolder {
  AI_SDK_TELEMETRY_INTEGRATIONS?: unknown[] | undefined;
}

/**
 * Makes all existing and future agents on the Vercel AI SDK 6 and 7 in this process traceable and trainable.
 *
 * Outside a rollout nothing changes. Within one, operations are recorded as agents, steps, model calls and tool calls, and
 * model calls are redirected to the rollout's endpoint, if it has one. A second call has no effect: the first options apply
 * until the last undo. If the installed version is not supported, the process emits one warning with the remedy, and agents
 * run untraced.
 *
 * @returns the undo; safe more than once
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
  undos.push(
    addIntegration(globalThis, new AISDKTelemetry(recording)),
    subscribeToChannel(recording),
    enableModelRecording(),
  );
  // Required without redirection too: requests provide the abort signals.
  const isRedirected = redirect ? shouldRedirect : () => false;
  undos.push(redirectGlobalFetch({ shouldRedirect: isRedirected, position: () => operations.unmatched.position() }));
  if (redirect && stringModels !== undefined) undos.push(provideStringModels(stringModels));
});

function addIntegration(holder: typeof globalThis & TelemetryHolder, integration: object): () => void {
  const own = holder.AI_SDK_TELEMETRY_INTEGRATIONS === undefined;
  const list = holder.AI_SDK_TELEMETRY_INTEGRATIONS ?? [];
  holder.AI_SDK_TELEMETRY_INTEGRATIONS = list;
  // The integration must come first: version 6 awaits each one, and a context entered after an await is lost.
  list.unshift(integration);
  return () => {
    const index = list.indexOf(integration);
    if (index >= 0) list.splice(index, 1);
    const isLeftEmpty = own && list.length === 0 && holder.AI_SDK_TELEMETRY_INTEGRATIONS === list;
    if (isLeftEmpty) delete holder.AI_SDK_TELEMETRY_INTEGRATIONS;
  };
}

function enableModelRecording(): () => void {
  operations.isRecording = true;
  return () => {
    operations.isRecording = false;
  };
}
