import { currentRollout } from '@agentlightning/core';
import { type AgentNaming, agentNameOf } from './agent-naming.ts';
import type { Operation } from './operation.ts';
import type { Operations } from './operations.ts';
import type { SdkStart } from './sdk-events.ts';

/** What the events of the AI SDK are recorded with. */
export interface TelemetryOptions {
  readonly operations: Operations;
  readonly naming: AgentNaming;
  /** Told of a model of Vercel's AI Gateway in a rollout with an endpoint: its calls cannot be sent there. */
  readonly onGatewayModel: (modelId: string) => void;
}

/** Begins an operation that the AI SDK tells of, if it is one of those that are recorded. */
export function beginOperation(options: TelemetryOptions, id: string, event: SdkStart): Operation | undefined {
  const [, name, kind] = /^ai\.((generate|stream)(?:Text|Object)|embed|embedMany)$/.exec(event.operationId ?? '') ?? [];
  if (name === undefined) return undefined;
  const agentName = kind === undefined ? null : agentNameOf(options.naming, name, event);
  if (kind !== undefined && (event.provider ?? event.model?.provider) === 'gateway') tellOfGatewayModel(options, event);
  return options.operations.begin({ id, name, agentName });
}

function tellOfGatewayModel({ onGatewayModel }: TelemetryOptions, event: SdkStart): void {
  if (currentRollout()?.endpoint != null) onGatewayModel(event.modelId ?? event.model?.modelId ?? 'unknown');
}
