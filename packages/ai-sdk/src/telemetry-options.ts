import { currentRollout } from '@agentlightning/core';
import { warnOnce } from '@agentlightning/core/adapter';
import { type AgentNaming, agentNameOf } from './agent-naming.ts';
import type { ModelCallStart, Operation } from './operation.ts';
import type { Operations } from './operations.ts';
import type { SdkStart, SdkStepStart } from './sdk-events.ts';
import { modelIdOf, requestOf } from './sdk-messages.ts';

/** What the events of the AI SDK are recorded with. */
export interface TelemetryOptions {
  readonly operations: Operations;
  readonly naming: AgentNaming;
  /** Whether model calls are to go to the rollout's endpoint. */
  readonly isRedirecting: boolean;
}

/** Begins an operation that the AI SDK tells of, if it is one of those that are recorded. */
export function beginOperation(options: TelemetryOptions, id: string, event: SdkStart): Operation | undefined {
  const [, name, kind] = /^ai\.((generate|stream)(?:Text|Object)|embed|embedMany)$/.exec(event.operationId ?? '') ?? [];
  if (name === undefined) return undefined;
  const agentName = kind === undefined ? null : agentNameOf(options.naming, name, event);
  const isAtVercel = kind !== undefined && (event.provider ?? event.model?.provider) === 'gateway';
  if (isAtVercel && options.isRedirecting && currentRollout()?.endpoint != null) {
    warnOnce(
      "A model of Vercel's AI Gateway cannot be redirected, nor trained",
      `give instrumentAISDK the option stringModels, for ${modelIdOf(event)}`,
    );
  }
  return options.operations.begin({ id, name, agentName });
}

/** How a model call begins that version 7 tells of. */
export function startOf(event: SdkStepStart): ModelCallStart {
  const { recordInputs, recordOutputs } = event;
  return { request: requestOf(event, event.promptMessages), recordInputs, recordOutputs };
}
