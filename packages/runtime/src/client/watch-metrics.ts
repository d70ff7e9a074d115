import type { MetricPoint } from '../gen/agentlightning/runtime/v1/runtime_pb.ts';
import { classifyCallError } from '../wire/grpc-error.ts';
import { fromTimestamp } from '../wire/timestamp.ts';
import { type RuntimeLink, untimed } from './runtime-link.ts';

/** A measurement of a runtime. */
export interface RuntimeMetric {
  /** The model id; null for the runtime as a whole. */
  readonly modelId: string | null;
  /** Such as `train/tokens_per_second`; the contract lists them. */
  readonly name: string;
  /** The value. */
  readonly value: number;
  /** The model's optimizer steps at that time. */
  readonly step: number;
  /** Unix milliseconds. */
  readonly timeMs: number;
}

/** Filter and signal of a metrics stream. */
export interface WatchMetricsOptions {
  /** Only those of this model. @default all */
  readonly modelId?: string;
  /** Ends the stream. */
  readonly signal?: AbortSignal;
}

/** Stored measurements, then new ones; a lost stream resumes after the last one received. */
export async function* watchMetrics(
  link: RuntimeLink,
  { modelId = '', signal = link.signal }: WatchMetricsOptions,
): AsyncGenerator<RuntimeMetric> {
  const ended = AbortSignal.any([signal, link.signal]);
  const outage = link.policy.outage();
  let afterCursor = '';
  while (!ended.aborted) {
    const stopped = new AbortController();
    const signal = AbortSignal.any([ended, stopped.signal]);
    try {
      for await (const { cursor, points } of link.runtime.watchMetrics(
        { modelId, afterCursor },
        { ...untimed, signal },
      )) {
        outage.end();
        afterCursor = cursor;
        for (const point of points) yield decodeMetric(point);
      }
      await outage.pause(new Error('the runtime ended the metrics stream'));
    } catch (error) {
      if (ended.aborted) return;
      const failure = classifyCallError(error);
      if (failure.kind === 'runtime') throw failure.error;
      await outage.pause(failure.error);
    } finally {
      stopped.abort();
    }
  }
}

function decodeMetric({ modelId, name, value, step, time }: MetricPoint): RuntimeMetric {
  return { modelId: modelId === '' ? null : modelId, name, value, step, timeMs: fromTimestamp(time) };
}
