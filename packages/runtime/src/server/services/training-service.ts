import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';
import type { OperationKey } from '../../gen/agentlightning/runtime/v1/batch_pb.ts';
import { ExportCheckpointRequestSchema } from '../../gen/agentlightning/runtime/v1/export_pb.ts';
import {
  LoadCheckpointRequestSchema,
  OptimStepRequestSchema,
  PublishSamplerWeightsRequestSchema,
  SaveCheckpointRequestSchema,
  type TrainingService,
} from '../../gen/agentlightning/runtime/v1/training_pb.ts';
import { fingerprintOf, isRefusal, refusedWork, submitBatch } from '../batches/submit-batch.ts';
import { downloadArtifact, exportWork } from '../export-work.ts';
import type { HostedModel } from '../hosted-model.ts';
import { invalid } from '../invalid.ts';
import {
  encodeCheckpoint,
  loadCheckpointWork,
  optimStepWork,
  publishWork,
  saveCheckpointWork,
} from '../model-operations.ts';
import type { OperationOutcome, OperationRecord } from '../operation-record.ts';
import { fetchBatchOutput, watchOperations } from '../operation-streams.ts';
import { resolveModel } from '../resolve-model.ts';
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
