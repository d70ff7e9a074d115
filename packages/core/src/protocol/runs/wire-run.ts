import { z } from 'zod';
import type { JsonObject } from '../../json.ts';
import type { MetricPoint, Run, RunStatus } from '../../store/run.ts';
import type { RunPatch } from '../../store/store.ts';
import { present } from '../present.ts';
import { wireJsonObject } from '../wire-json.ts';
import { msFromSeconds, secondsFromMs } from '../wire-time.ts';
import { metricPointCodec } from './wire-metric-point.ts';

/** The statuses of a run. */
export const wireRunStatusSchema: z.ZodType<RunStatus> = z.enum(['running', 'finished', 'failed', 'stopped']);

/** A training run, an extension of the Agent Lightning 0.3 protocol. Times are Unix seconds. */
export const runCodec: z.ZodType<Run> = z.codec(
  z.object({
    run_id: z.string(),
    name: z.string(),
    status: wireRunStatusSchema,
    config: wireJsonObject,
    state: wireJsonObject,
    create_time: z.number(),
    update_time: z.number(),
  }),
  z.custom<Run>(),
  {
    decode: (wire) => ({
      runId: wire.run_id,
      name: wire.name,
      status: wire.status,
      config: wire.config,
      state: wire.state,
      createTimeMs: msFromSeconds(wire.create_time),
      updateTimeMs: msFromSeconds(wire.update_time),
    }),
    encode: (run) => ({
      run_id: run.runId,
      name: run.name,
      status: run.status,
      config: run.config,
      state: run.state,
      create_time: secondsFromMs(run.createTimeMs),
      update_time: secondsFromMs(run.updateTimeMs),
    }),
  },
);

/** Request to create a run. */
export interface RunRequest {
  readonly runId: string;
  readonly name: string;
  readonly config: JsonObject;
}

/** Codec of {@link RunRequest}. */
export const runRequestCodec: z.ZodType<RunRequest> = z.codec(
  z.object({ run_id: z.string().min(1), name: z.string(), config: wireJsonObject }),
  z.custom<RunRequest>(),
  {
    decode: ({ run_id, name, config }) => ({ runId: run_id, name, config }),
    encode: ({ runId, name, config }) => ({ run_id: runId, name, config }),
  },
);

/** Changes to a run, with the metrics to record. */
export interface RunUpdate {
  readonly patch: RunPatch;
  readonly metrics: readonly MetricPoint[];
}

/** Codec of {@link RunUpdate}. */
export const runUpdateCodec: z.ZodType<RunUpdate> = z.codec(
  z.object({
    status: wireRunStatusSchema.optional(),
    state: wireJsonObject.optional(),
    metrics: z.array(metricPointCodec).optional(),
  }),
  z.custom<RunUpdate>(),
  {
    decode: ({ status, state, metrics = [] }) => ({ patch: present({ status, state }), metrics }),
    encode: ({ patch, metrics }) => ({ ...patch, metrics: [...metrics] }),
  },
);
