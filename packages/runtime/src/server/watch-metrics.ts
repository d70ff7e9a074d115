import type { MessageInitShape } from '@bufbuild/protobuf';
import type { WatchMetricsRequest, WatchMetricsResponseSchema } from '../gen/agentlightning/runtime/v1/runtime_pb.ts';
import { toTimestamp } from '../wire/timestamp.ts';
import { assertFeature } from './assert-feature.ts';
import type { RuntimeHost } from './runtime-host.ts';

/** The measurements of one model, or of all models and the runtime, after a cursor. */
export async function* watchMetrics(
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
