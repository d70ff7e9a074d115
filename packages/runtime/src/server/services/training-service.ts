import type { LoraConfig } from '@agentlightning/core/training-runtime';
import type { DescMessage, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';
import type { OperationKey } from '../../gen/agentlightning/runtime/v1/batch_pb.ts';
import { ErrorReason } from '../../gen/agentlightning/runtime/v1/error_pb.ts';
import { ExportCheckpointRequestSchema } from '../../gen/agentlightning/runtime/v1/export_pb.ts';
import type { LoraConfig as LoraMessage } from '../../gen/agentlightning/runtime/v1/model_pb.ts';
import {
  BatchOutputKind,
  type CreateModelRequest,
  type FetchBatchOutputResponseSchema,
  LoadCheckpointRequestSchema,
  OptimStepRequestSchema,
  PublishSamplerWeightsRequestSchema,
  SaveCheckpointRequestSchema,
  type TrainingService,
  type WatchOperationsResponseSchema,
} from '../../gen/agentlightning/runtime/v1/training_pb.ts';
import { RuntimeError } from '../../runtime-error.ts';
import { chunkBytes } from '../../runtime-limits.ts';
import { fingerprintOf, isRefusal, refusedWork, submitBatch } from '../batches/submit-batch.ts';
import type { EngineCapabilities } from '../engine.ts';
import { downloadArtifact, exportWork } from '../export-work.ts';
import type { HostedModel } from '../hosted-model.ts';
import { assertFeature, assertName, invalid } from '../invalid.ts';
import {
  encodeCheckpoint,
  loadCheckpointWork,
  optimStepWork,
  publishWork,
  saveCheckpointWork,
} from '../model-operations.ts';
import type { ModelRequest } from '../model-request.ts';
import type { OperationOutcome, OperationRecord } from '../operation-record.ts';
import type { RuntimeHost } from '../runtime-host.ts';

type Handlers = ServiceImpl<typeof TrainingService>;

/** Models, their operations and their checkpoints. */
export function trainingHandlers(host: RuntimeHost): Handlers {
  return { ...modelHandlers(host), ...operationHandlers(host), ...resultHandlers(host) };
}

function modelHandlers(
  host: RuntimeHost,
): Pick<Handlers, 'createModel' | 'getModel' | 'unloadModel' | 'listCheckpoints' | 'deleteCheckpoint'> {
  return {
    createModel: async (request) =>
      operationResponse(host.createModel(request.sessionId, resolveModel(request, host.capabilities))),
    getModel: async ({ modelId }) => ({ model: host.model(modelId).info() }),
    unloadModel: async ({ sessionId, modelId }) => {
      await host.unloadModel(host.ownedModel(sessionId, modelId));
      return {};
    },
    listCheckpoints: async ({ modelId }) => {
      const checkpoints = await host.engineModel(modelId).listCheckpoints();
      return { checkpoints: checkpoints.map(encodeCheckpoint) };
    },
    deleteCheckpoint: async ({ sessionId, modelId, uri }) => {
      host.ownedModel(sessionId, modelId);
      await host.engineModel(modelId).deleteCheckpoint(uri);
      return {};
    },
  };
}

function operationHandlers(
  host: RuntimeHost,
): Pick<
  Handlers,
  'submitBatch' | 'optimStep' | 'saveCheckpoint' | 'loadCheckpoint' | 'exportCheckpoint' | 'publishSamplerWeights'
> {
  return {
    submitBatch: async (messages) => operationResponse(await submitBatch(messages, host)),
    optimStep: async (request) => accept(OptimStepRequestSchema, request, { host, plan: optimStepWork }),
    saveCheckpoint: async (request) => accept(SaveCheckpointRequestSchema, request, { host, plan: saveCheckpointWork }),
    loadCheckpoint: async (request) => accept(LoadCheckpointRequestSchema, request, { host, plan: loadCheckpointWork }),
    exportCheckpoint: async (request) =>
      accept(ExportCheckpointRequestSchema, request, {
        host,
        plan: (model) => exportWork(model, request, host.capabilities),
      }),
    publishSamplerWeights: async (request) =>
      accept(PublishSamplerWeightsRequestSchema, request, { host, plan: publishWork }),
  };
}

function resultHandlers(
  host: RuntimeHost,
): Pick<Handlers, 'getOperation' | 'watchOperations' | 'fetchBatchOutput' | 'downloadArtifact' | 'cancelOperation'> {
  return {
    getOperation: async ({ modelId, seq }) => ({
      operation: host.model(modelId).operation(seq).toMessage(),
    }),
    watchOperations: (request, { signal }) => watchOperations(host.model(request.modelId), request.afterCursor, signal),
    fetchBatchOutput: ({ modelId, seq, kind }) => fetchBatchOutput(host.model(modelId).operation(seq), kind),
    downloadArtifact: (request) => downloadArtifact(host.model(request.modelId), request),
    cancelOperation: async ({ key }) => {
      if (key === undefined) throw invalid('key', 'is missing');
      return operationResponse(host.ownedModel(key.sessionId, key.modelId).cancel(key.seq));
    },
  };
}

/** Accepts an operation's request. `plan` throws INVALID or TOO_LARGE for invalid content. */
interface OperationPlan<TRequest> {
  readonly host: RuntimeHost;
  readonly plan: (model: HostedModel, request: TRequest, host: RuntimeHost) => () => Promise<OperationOutcome>;
}

function accept<TSchema extends DescMessage>(
  schema: TSchema,
  request: MessageShape<TSchema> & { readonly key?: OperationKey | undefined },
  { host, plan }: OperationPlan<MessageShape<TSchema>>,
): ReturnType<typeof operationResponse> {
  const { key } = request;
  if (key === undefined) throw invalid('key', 'is missing');
  const model = host.ownedModel(key.sessionId, key.modelId);
  const fingerprint = fingerprintOf(schema, request);
  const known = model.findOrRefuse(key.seq, fingerprint);
  if (known !== undefined) return operationResponse(known);
  try {
    const execute = plan(model, request, host);
    return operationResponse(model.accept(key.seq, { fingerprint, addsGradients: false, execute }));
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return operationResponse(model.accept(key.seq, refusedWork(fingerprint, false, error)));
  }
}

/** The operation; one that was rejected on arrival throws its error, on each retry. */
function operationResponse(record: OperationRecord): { operation: ReturnType<OperationRecord['toMessage']> } {
  if (record.refusal !== undefined) throw record.refusal;
  return { operation: record.toMessage() };
}

/** Every change of a model's operations after a cursor; a cursor of an earlier instance restarts at the beginning. */
async function* watchOperations(
  model: HostedModel,
  afterCursor: string,
  signal: AbortSignal,
): AsyncGenerator<MessageInitShape<typeof WatchOperationsResponseSchema>> {
  // Response headers are sent with the first response: the client then knows that an idle model is watched.
  yield {};
  const [incarnation, place] = afterCursor.split(':');
  const after = incarnation === model.incarnation ? Number(place) : 0;
  for await (const record of model.changes.follow(Number.isFinite(after) ? after : 0, signal)) {
    const cursor = `${model.incarnation}:${record.changeIndex}`;
    yield { event: { cursor, operation: record.toMessage() } };
  }
}

/** One output of a forward pass in chunks. */
async function* fetchBatchOutput(
  record: OperationRecord,
  kind: BatchOutputKind,
): AsyncGenerator<MessageInitShape<typeof FetchBatchOutputResponseSchema>> {
  const wantsValues = kind === BatchOutputKind.VALUES;
  const output = wantsValues ? record.output?.values : record.output?.logprobs;
  if (output === undefined || (wantsValues && output.byteLength === 0)) {
    throw new RuntimeError({
      reason: ErrorReason.PRECONDITION,
      message: `Operation ${record.seq} of model "${record.modelId}" has no ${wantsValues ? 'values: it is not a FORWARD batch of a model with a value head' : 'output: it is not a FORWARD batch'}, or has not ended`,
    });
  }
  for (let offset = 0; offset < output.byteLength; offset += chunkBytes) {
    yield { offset, data: output.subarray(offset, offset + chunkBytes) };
  }
}

type Base = EngineCapabilities['models'][number];

/**
 * Validates the options of a model and fills in defaults.
 * @throws RuntimeError INVALID for a base or a feature that the engine does not have
 */
function resolveModel(request: CreateModelRequest, capabilities: EngineCapabilities): ModelRequest {
  const { modelId, baseModel, seed, lora, hasValueHead, initialCheckpoint } = request;
  assertName('model_id', modelId);
  const base = capabilities.models.find(({ name }) => name === baseModel);
  if (base === undefined) {
    const names = capabilities.models.map(({ name }) => name).join(', ');
    throw invalid('base_model', `is "${baseModel}"; known models: ${names}`);
  }
  if (hasValueHead) assertFeature(capabilities, 'value_head', 'has_value_head');
  if (initialCheckpoint !== '') assertFeature(capabilities, 'initial_checkpoint', 'initial_checkpoint');
  const plain = { modelId, baseModel, seed, hasValueHead, ...(initialCheckpoint === '' ? {} : { initialCheckpoint }) };
  if (lora === undefined) {
    if (!capabilities.features?.includes('lora_only')) return plain;
    throw invalid('lora', 'is missing; this runtime trains LoRA only (feature lora_only)');
  }
  assertFeature(capabilities, 'lora', 'lora');
  return { ...plain, lora: resolveLora(lora, base) };
}

function resolveLora({ rank, alpha, targetModules }: LoraMessage, base: Base): Required<LoraConfig> {
  const { name, maxLoraRank = 0, loraTargetModules = [] } = base;
  if (rank < 1 || rank > maxLoraRank) {
    throw invalid('lora.rank', `is ${rank}; ${name} accepts 1 to ${maxLoraRank}`);
  }
  if (!(Number.isFinite(alpha) && alpha >= 0))
    throw invalid('lora.alpha', `is ${alpha}; it must be finite and above 0`);
  for (const [at, module] of targetModules.entries()) {
    if (loraTargetModules.length === 0 || loraTargetModules.includes(module)) continue;
    throw invalid(`lora.target_modules[${at}]`, `is "${module}"; ${name} has ${loraTargetModules.join(', ')}`);
  }
  return {
    rank,
    alpha: alpha === 0 ? rank : alpha,
    targetModules: targetModules.length === 0 ? loraTargetModules : targetModules,
  };
}
