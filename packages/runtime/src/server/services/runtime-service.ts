import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';
import type {
  BaseModelSchema,
  RuntimeService,
  WatchMetricsRequest,
  WatchMetricsResponseSchema,
} from '../../gen/agentlightning/runtime/v1/runtime_pb.ts';
import { maxMessageBytes } from '../../runtime-limits.ts';
import { toTimestamp } from '../../wire/timestamp.ts';
import type { EngineCapabilities } from '../engine.ts';
import { assertFeature, assertName } from '../invalid.ts';
import type { RuntimeHost } from '../runtime-host.ts';

/** The contract version reported in the capabilities. */
export const apiVersion: string = 'v1';

/** Capabilities and sessions. */
export function runtimeHandlers(host: RuntimeHost, stopping: AbortSignal): ServiceImpl<typeof RuntimeService> {
  const { capabilities, limits, sessions } = host;
  return {
    getCapabilities: async () => ({
      runtimeVersion: capabilities.runtimeVersion,
      apiVersions: [apiVersion],
      device: capabilities.device,
      baseModels: capabilities.models.map(baseModelMessage),
      losses: capabilities.losses.map((loss) => ({ ...loss, defaults: { ...loss.defaults } })),
      maxMessageBytes,
      maxBatchTokens: capabilities.maxBatchTokens,
      features: [...(capabilities.features ?? [])],
      dtype: capabilities.dtype ?? '',
      maxModels: capabilities.maxModels ?? 0,
      deviceCount: capabilities.deviceCount ?? 0,
      ...limits,
    }),
    createSession: async ({ clientSessionKey }) => {
      assertName('client_session_key', clientSessionKey);
      return { sessionId: sessions.open(clientSessionKey) };
    },
    heartbeat: async ({ sessionId }) => {
      host.touch(sessionId);
      return {};
    },
    closeSession: async ({ sessionId }) => {
      sessions.close(sessionId);
      return {};
    },
    watchMetrics: (request, { signal }) => watchMetrics(host, request, AbortSignal.any([signal, stopping])),
  };
}

function baseModelMessage(model: EngineCapabilities['models'][number]): MessageInitShape<typeof BaseModelSchema> {
  const { parameterCount = 0, loraTargetModules = [], ...facts } = model;
  return { ...facts, parameterCount: BigInt(parameterCount), loraTargetModules: [...loraTargetModules] };
}

/** The measurements of one model, or of all models and the runtime, after a cursor. */
async function* watchMetrics(
  host: RuntimeHost,
  { modelId, afterCursor }: WatchMetricsRequest,
  signal: AbortSignal,
): AsyncGenerator<MessageInitShape<typeof WatchMetricsResponseSchema>> {
  assertFeature(host.capabilities, 'metrics', 'metrics');
  for await (const { cursor, metrics } of host.metrics.follow(afterCursor, signal)) {
    const wanted = modelId === '' ? metrics : metrics.filter((metric) => metric.modelId === modelId);
    if (wanted.length === 0) continue;
    yield { cursor, points: wanted.map(({ timeMs, ...point }) => ({ ...point, time: toTimestamp(timeMs) })) };
  }
}
