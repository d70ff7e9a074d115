import type { MetricPoint, WatchMetricsResponse } from '../gen/agentlightning/runtime/v1/runtime_pb.ts';
import { classifyCallError } from '../wire/grpc-error.ts';
import { fromTimestamp } from '../wire/timestamp.ts';
import type { RuntimeLink } from './runtime-link.ts';

/** One measurement of a runtime. */
export interface RuntimeMetric {
  /** Of which model; null for the runtime as a whole. */
  readonly modelId: string | null;
  /** Such as `train/tokens_per_second`; the contract lists them. */
  readonly name: string;
  readonly value: number;
  /** Optimizer steps the model had taken. */
  readonly step: number;
  /** Unix milliseconds. */
  readonly timeMs: number;
}

/** Which measurements to watch. */
export interface WatchMetricsOptions {
  /** Only those of this model. @default all */
  readonly modelId?: string;
  /** Ends the watching. */
  readonly signal?: AbortSignal;
}

/** Measurements that are kept, then new ones; a lost stream is taken up after the last one seen. */
export async function* watchMetrics(
  link: RuntimeLink,
  { modelId = '', signal = link.signal }: WatchMetricsOptions,
): AsyncGenerator<RuntimeMetric> {
  const ended = AbortSignal.any([signal, link.signal]);
  const outage = link.policy.outage();
  let afterCursor = '';
  while (!ended.aborted) {
    const stream = link.runtime.watchMetrics({ modelId, afterCursor });
    const cancel = (): void => stream.cancel();
    ended.addEventListener('abort', cancel);
    try {
      const responses: AsyncIterable<WatchMetricsResponse> = stream;
      for await (const { cursor, points } of responses) {
        outage.end();
        afterCursor = cursor;
        for (const point of points) yield decodeMetric(point);
      }
      await outage.pause(new Error('the runtime ended the stream of measurements'));
    } catch (error) {
      if (ended.aborted) return;
      const failure = classifyCallError(error);
      if (failure.kind === 'answered') throw failure.error;
      await outage.pause(failure.error);
    } finally {
      ended.removeEventListener('abort', cancel);
      stream.on('error', () => {});
      stream.cancel();
    }
  }
}

function decodeMetric({ modelId, name, value, step, time }: MetricPoint): RuntimeMetric {
  return { modelId: modelId === '' ? null : modelId, name, value, step, timeMs: fromTimestamp(time) };
}
