import type { MessageInitShape } from '@bufbuild/protobuf';
import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import type { CheckpointInfoSchema } from '../gen/agentlightning/runtime/v1/model_pb.ts';
import type {
  LoadCheckpointRequest,
  OptimStepRequest,
  SaveCheckpointRequest,
} from '../gen/agentlightning/runtime/v1/training_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import { maxClientStateBytes } from '../runtime-limits.ts';
import { toTimestamp } from '../wire/timestamp.ts';
import type { EngineCheckpoint } from './engine.ts';
import type { HostedModel } from './hosted-model.ts';
import { assertName, invalid } from './invalid.ts';
import type { OperationOutcome } from './operation-record.ts';
import { publishStepMetrics } from './publish-metrics.ts';
import { resolveAdam } from './resolve-parameters.ts';
import { assertMade, assertSound, type RuntimeHost } from './runtime-host.ts';

type Execute = () => Promise<OperationOutcome>;

/** Takes a step when the gradients are the intended ones; else discards them. */
export function optimStepWork(model: HostedModel, request: OptimStepRequest, host: RuntimeHost): Execute {
  const adam = resolveAdam(request.adam);
  return async () => {
    const engine = assertSound(model);
    const reason = model.ledger.whyNot(request.requiresSeqs);
    model.ledger.clear();
    if (reason !== null) {
      await engine.discardGradients();
      throw reason;
    }
    const result = await engine.optimStep(adam);
    publishStepMetrics(host, model, result);
    const { step, isSkipped, gradientNorm } = result;
    const norm = gradientNorm === undefined ? { isGradientNormUnknown: true } : { gradientNorm };
    return { case: 'optimStep', value: { step, isSkipped, ...norm } };
  };
}

/** Saves weights, optimizer and client state. */
export function saveCheckpointWork(model: HostedModel, request: SaveCheckpointRequest): Execute {
  const { name, clientState } = request;
  assertName('name', name);
  if (clientState.byteLength > maxClientStateBytes) {
    throw new RuntimeError({
      reason: ErrorReason.TOO_LARGE,
      message: `client_state has ${clientState.byteLength} bytes; the limit is ${maxClientStateBytes}`,
      field: 'client_state',
    });
  }
  return async () => {
    const checkpoint = await assertSound(model).saveCheckpoint(name, clientState);
    return { case: 'checkpoint', value: encodeCheckpoint(checkpoint) };
  };
}

/** Loads a checkpoint; works for a corrupted model too. */
export function loadCheckpointWork(model: HostedModel, request: LoadCheckpointRequest): Execute {
  const { uri } = request;
  if (uri === '') throw invalid('uri', 'is missing');
  return async () => {
    const checkpoint = await assertMade(model).loadCheckpoint(uri);
    model.ledger.clear();
    return { case: 'checkpoint', value: encodeCheckpoint(checkpoint) };
  };
}

/** Serves the current weights. */
export function publishWork(model: HostedModel): Execute {
  return async () => ({ case: 'endpoint', value: await assertSound(model).publishWeights() });
}

/** Converts a checkpoint to a message of the contract. */
export function encodeCheckpoint(checkpoint: EngineCheckpoint): MessageInitShape<typeof CheckpointInfoSchema> {
  return {
    uri: checkpoint.uri,
    name: checkpoint.name,
    step: checkpoint.step,
    policyVersion: checkpoint.policyVersion,
    sizeBytes: BigInt(checkpoint.sizeBytes),
    createTime: toTimestamp(checkpoint.createdAtMs),
    clientState: checkpoint.clientState,
  };
}
