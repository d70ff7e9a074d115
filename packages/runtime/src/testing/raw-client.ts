import assert from 'node:assert/strict';
import { ChannelCredentials, Client } from '@grpc/grpc-js';
import { InferenceService } from '../gen/agentlightning/runtime/v1/inference_pb.ts';
import { RuntimeService } from '../gen/agentlightning/runtime/v1/runtime_pb.ts';
import { TrainingService } from '../gen/agentlightning/runtime/v1/training_pb.ts';
import { Health } from '../gen/grpc/health/v1/health_pb.ts';
import { createServiceClient, type ServiceClient } from '../grpc/service-client.ts';
import type { RuntimeError } from '../runtime-error.ts';
import { classifyCallError } from '../wire/grpc-error.ts';

/** The bare contract, for calls that a well-behaved client never makes. */
export interface RawClient {
  readonly runtime: ServiceClient<(typeof RuntimeService)['method']>;
  readonly training: ServiceClient<(typeof TrainingService)['method']>;
  readonly inference: ServiceClient<(typeof InferenceService)['method']>;
  readonly health: ServiceClient<(typeof Health)['method']>;
  close(): void;
}

/** Calls a runtime without sessions, numbering or retries. */
export function openRawClient(address: string, apiKey?: string): RawClient {
  const client = new Client(address, ChannelCredentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1,
  });
  const callers = { client, apiKey };
  return {
    runtime: createServiceClient(RuntimeService, callers),
    training: createServiceClient(TrainingService, callers),
    inference: createServiceClient(InferenceService, callers),
    health: createServiceClient(Health, callers),
    close: () => client.close(),
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
