import { z } from 'zod';
import type { JsonObject } from '../json.ts';
import type { MetricPoint, Run, RunStatus } from '../run.ts';
import { wireJsonObject } from './wire-json.ts';
import { msFromSeconds, secondsFromMs } from './wire-time.ts';

/** A training run on the wire. Runs are ours: the protocol of Agent Lightning 0.3 has none. Times are Unix seconds. */
export interface WireRun {
  readonly run_id: string;
  readonly name: string;
  readonly status: RunStatus;
  readonly config: JsonObject;
  readonly state: JsonObject;
  readonly create_time: number;
  readonly update_time: number;
}

/** The metrics of a step on the wire. JSON has no NaN and no infinity: null stands for a value that is no number. */
export interface WireMetricPoint {
  readonly run_id: string;
  readonly step: number;
  readonly time: number;
  readonly values: Readonly<Record<string, number | null>>;
}

/** A run to add. */
export interface WireRunRequest {
  readonly run_id: string;
  readonly name: string;
  readonly config: JsonObject;
}

/** What to change of a run, and the metrics to record with it. */
export interface WireRunPatch {
  readonly status?: RunStatus | undefined;
  readonly state?: JsonObject | undefined;
  readonly metrics?: readonly WireMetricPoint[] | undefined;
}

/** The statuses of a run. */
export const wireRunStatusSchema: z.ZodType<RunStatus> = z.enum(['running', 'finished', 'failed', 'stopped']);

/** The shape of {@link WireRun}. */
export const wireRunSchema: z.ZodType<WireRun> = z.object({
  run_id: z.string(),
  name: z.string(),
  status: wireRunStatusSchema,
  config: wireJsonObject,
  state: wireJsonObject,
  create_time: z.number(),
  update_time: z.number(),
});

/** The shape of {@link WireMetricPoint}. */
export const wireMetricPointSchema: z.ZodType<WireMetricPoint> = z.object({
  run_id: z.string(),
  step: z.int().min(0),
  time: z.number(),
  values: z.record(z.string(), z.number().nullable()),
});

/** The shape of {@link WireRunRequest}. */
export const wireRunRequestSchema: z.ZodType<WireRunRequest> = z.object({
  run_id: z.string().min(1),
  name: z.string(),
  config: wireJsonObject,
});

/** The shape of {@link WireRunPatch}. */
export const wireRunPatchSchema: z.ZodType<WireRunPatch> = z.object({
  status: wireRunStatusSchema.optional(),
  state: wireJsonObject.optional(),
  metrics: z.array(wireMetricPointSchema).optional(),
});

/** A run from the wire. */
export function runFromWire(wire: WireRun): Run {
  return {
    runId: wire.run_id,
    name: wire.name,
    status: wire.status,
    config: wire.config,
    state: wire.state,
    createTimeMs: msFromSeconds(wire.create_time),
    updateTimeMs: msFromSeconds(wire.update_time),
  };
}

/** A run for the wire. */
export function runToWire(run: Run): WireRun {
  return {
    run_id: run.runId,
    name: run.name,
    status: run.status,
    config: run.config,
    state: run.state,
    create_time: secondsFromMs(run.createTimeMs),
    update_time: secondsFromMs(run.updateTimeMs),
  };
}

/** The metrics of a step, from the wire. */
export function metricPointFromWire(wire: WireMetricPoint): MetricPoint {
  const values = Object.entries(wire.values).map(([name, value]) => [name, value ?? Number.NaN] as const);
  return { runId: wire.run_id, step: wire.step, timeMs: msFromSeconds(wire.time), values: Object.fromEntries(values) };
}

/** The metrics of a step, for the wire. */
export function metricPointToWire(point: MetricPoint): WireMetricPoint {
  const values = Object.entries(point.values).map(
    ([name, value]) => [name, Number.isFinite(value) ? value : null] as const,
  );
  return {
    run_id: point.runId,
    step: point.step,
    time: secondsFromMs(point.timeMs),
    values: Object.fromEntries(values),
  };
}
