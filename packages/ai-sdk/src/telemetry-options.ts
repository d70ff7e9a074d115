import { currentRollout } from '@agentlightning/core';
import type { AgentNaming } from './agent-naming.ts';
import type { Operations } from './operations.ts';
import type { SdkStart } from './sdk-events.ts';

/** What the events of the AI SDK are recorded with. */
export interface TelemetryOptions {
  readonly operations: Operations;
  readonly naming: AgentNaming;
  /** Told of a model of Vercel's AI Gateway in a rollout with an endpoint: its calls cannot be sent there. */
  readonly onGatewayModel: (modelId: string) => void;
}

/** Tells when an operation begins whose model calls will go past the rollout's endpoint. */
export function tellOfGatewayModel(event: SdkStart, { onGatewayModel }: TelemetryOptions): void {
  const provider = event.provider ?? event.model?.provider;
  if (provider !== 'gateway' || currentRollout()?.endpoint == null) return;
  onGatewayModel(event.modelId ?? event.model?.modelId ?? 'unknown');
}
