import { tracingChannel } from 'node:diagnostics_channel';
import { type Activity, activityChannel } from '@agentlightning/core/internal';
import { Histogram, type Registry } from 'prom-client';

const activityBuckets = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800];

/** Measures the activities of this process: the phases of training steps, attempts, model calls. @returns ends it */
export function measureActivities(registry: Registry): () => void {
  const histogram = new Histogram({
    name: 'agl_activity_duration_seconds',
    help: 'Duration of activities: attempts of a runner, phases of training steps, model calls',
    labelNames: ['activity', 'outcome'],
    buckets: activityBuckets,
    registers: [registry],
  });
  const channel = tracingChannel<unknown, Activity>(activityChannel);
  const started = new WeakMap<object, number>();
  const onStart = (activity: unknown): void => void started.set(activity as object, performance.now());
  const onEnd = (message: unknown): void => {
    const { name, attributes, error } = message as Activity & { readonly error?: unknown };
    const startMs = started.get(message as object);
    if (startMs === undefined) return;
    const outcome = error === undefined ? String(attributes['outcome'] ?? 'done') : 'error';
    histogram.observe({ activity: name, outcome }, (performance.now() - startMs) / 1000);
  };
  channel.start.subscribe(onStart);
  channel.asyncEnd.subscribe(onEnd);
  return () => {
    channel.start.unsubscribe(onStart);
    channel.asyncEnd.unsubscribe(onEnd);
  };
}
