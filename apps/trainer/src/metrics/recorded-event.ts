import type { JsonObject } from '@agentlightning/core';
import { z } from 'zod';
import type { TrainingMetrics } from './training-metrics.ts';

const recordedEvent = z.discriminatedUnion('event', [
  z.object({ event: z.literal('started'), run: z.string() }),
  z.object({
    event: z.literal('step'),
    step: z.number(),
    reward: z.number(),
    seconds: z.number(),
    metrics: z.record(z.string(), z.number()),
  }),
  z.object({ event: z.literal('evaluated'), phase: z.enum(['before', 'during', 'after']), reward: z.number() }),
  z.object({ event: z.literal('warning'), name: z.string() }),
]);

/** Follows the JSON events of a training in another process. Other events have no metrics. */
export function followRecordedEvent(metrics: TrainingMetrics, record: JsonObject): void {
  const { data: event } = recordedEvent.safeParse(record);
  if (event === undefined) return;
  if (event.event === 'started') metrics.started(event.run);
  else if (event.event === 'step') metrics.stepped(event);
  else if (event.event === 'evaluated') metrics.evaluated(event.phase, event.reward);
  else metrics.warned(event.name);
}
