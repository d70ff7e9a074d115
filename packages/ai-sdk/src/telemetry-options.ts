import { currentRollout } from '@agentlightning/core';
import { warnOnce } from '@agentlightning/core/internal';
import { type AgentNaming, agentNameOf } from './agent-naming.ts';
import type { ModelCallStart, Operation } from './operation.ts';
import type { Operations } from './operations.ts';
import type { SdkStart, SdkStepStart } from './sdk-events.ts';
import { modelIdOf, requestOf } from './sdk-messages.ts';

/** How the events of the AI SDK are recorded. */
export interface TelemetryOptions {
  readonly operations: Operations;
  readonly naming: AgentNaming;
  /** Whether model calls are redirected to the rollout's endpoint. */
  readonly isRedirecting: boolean;
}

/** Starts an operation for an event, if its type is recorded. */
export function beginOperation(options: TelemetryOptions, id: string, event: SdkStart): Operation | undefined {
  const [, name, kind] = /^ai\.((generate|stream)(?:Text|Object)|embed|embedMany)$/.exec(event.operationId ?? '') ?? [];
  if (name === undefined) return undefined;
  const agentName = kind === undefined ? null : agentNameOf(options.naming, name, event);
  const isAtVercel = kind !== undefined && (event.provider ?? event.model?.provider) === 'gateway';
  if (isAtVercel && options.isRedirecting && currentRollout()?.endpoint != null) {
    warnOnce(
      "Models of Vercel's AI Gateway cannot be redirected or trained",
      `pass the option stringModels to instrumentAISDK for ${modelIdOf(event)}`,
    );
  }
  return options.operations.begin({ id, name, agentName });
}

/** The start of a model call that version 7 reports. */
export function startOf(event: SdkStepStart): ModelCallStart {
  const { recordInputs, recordOutputs } = event;
  return { request: requestOf(event, event.promptMessages), recordInputs, recordOutputs };
}
