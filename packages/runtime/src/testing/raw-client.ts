import assert from 'node:assert/strict';
import { type Client, createClient } from '@connectrpc/connect';
import { openTransport } from '../client/open-transport.ts';
import { InferenceService } from '../gen/agentlightning/runtime/v1/inference_pb.ts';
import { RuntimeService } from '../gen/agentlightning/runtime/v1/runtime_pb.ts';
import { TrainingService } from '../gen/agentlightning/runtime/v1/training_pb.ts';
import { Health } from '../gen/grpc/health/v1/health_pb.ts';
import type { RuntimeError } from '../runtime-error.ts';
import { classifyCallError } from '../wire/grpc-error.ts';

/** The bare contract, for calls that a well-behaved client never makes. */
export interface RawClient {
  readonly runtime: Client<typeof RuntimeService>;
  readonly training: Client<typeof TrainingService>;
  readonly inference: Client<typeof InferenceService>;
  readonly health: Client<typeof Health>;
  close(): void;
}

/** Calls a runtime without sessions, numbering or retries. */
export function openRawClient(address: string, apiKey?: string): RawClient {
  const settings = { address, apiKey, tls: null, keepaliveMs: 20_000 };
  const { transport, close } = openTransport(settings);
  return {
    runtime: createClient(RuntimeService, transport),
    training: createClient(TrainingService, transport),
    inference: createClient(InferenceService, transport),
    health: createClient(Health, transport),
    close,
  };
}

/** The typed error of a failed call. */
export async function refusalOf(call: Promise<unknown>): Promise<RuntimeError> {
  const failure = await call.then(
    () => null,
    (error: unknown) => classifyCallError(error),
  );
  assert(failure !== null, 'The call succeeded, but should have been rejected');
  if (failure.kind === 'transport') throw failure.error;
  return failure.error;
}
