import * as z from 'zod';
import type { JsonObject } from '../../base/json.ts';
import { type RunInfo, runInfoCodec } from '../records/run-info.ts';
import { fieldCodec, optionsCodec, recordCodec } from '../wire/wire-fields.ts';
import { wireJsonObject } from '../wire/wire-json.ts';
import { type RunPageQuery, runPageCodec } from '../wire/wire-run.ts';
import type { StoreRoute } from './store-route.ts';

/** What a training server is. */
export interface ServerDescription {
  /** The version of its package. */
  readonly version: string;
  /** The version of its routes. */
  readonly protocol: number;
}

/** What a server has received of a data set. */
export interface DataSetState {
  /** The number of bytes. */
  readonly offset: number;
  readonly isComplete: boolean;
}

/** A part of a data set. */
export interface DataSetPart {
  /** The number of bytes before it. */
  readonly offset: number;
  /** The size of the whole data set in bytes. */
  readonly totalBytes: number;
}

/** The request to create a run on a server. */
export interface CreateRunRequest {
  readonly runId: string;
  readonly name?: string;
  /** The digests of the data sets. */
  readonly data: { readonly train: string; readonly test: string };
  /** Keys of the training configuration. */
  readonly training: JsonObject;
}

/** What changes when a run is resumed. */
export interface ResumeRunRequest {
  /** The number of steps of the whole training. @default unchanged */
  readonly steps?: number;
  /** New limits of `limits.budget`, such as `{ money: 40 }`. @default unchanged */
  readonly budget?: { readonly [Limit in 'money' | 'tokens' | 'hours']?: number };
}

/** Reads a {@link ResumeRunRequest}. The resolution of the configuration validates the values further. */
export const resumeRunRequestSchema: z.ZodType<ResumeRunRequest> = z.strictObject({
  steps: z.int().exactOptional(),
  budget: z
    .strictObject({
      money: z.number().exactOptional(),
      tokens: z.number().exactOptional(),
      hours: z.number().exactOptional(),
    })
    .exactOptional(),
});

/** The routes of a training server, with their input and output. */
export interface ServerRoutes {
  readonly describe: StoreRoute<never, ServerDescription>;
  readonly getDataSet: StoreRoute<never, DataSetState>;
  readonly appendToDataSet: StoreRoute<DataSetPart, DataSetState>;
  readonly listRuns: StoreRoute<RunPageQuery, readonly RunInfo[]>;
  readonly createRun: StoreRoute<CreateRunRequest, RunInfo>;
  readonly getRun: StoreRoute<never, RunInfo>;
  readonly stopRun: StoreRoute<never, RunInfo>;
  readonly resumeRun: StoreRoute<ResumeRunRequest, RunInfo>;
  readonly serveModel: StoreRoute<never, string>;
  readonly streamEvents: StoreRoute<never, never>;
}

const dataSetState = recordCodec<DataSetState>({ offset: ['bytes', z.int()], isComplete: ['complete', z.boolean()] });

/** The routes of a training server, `agl server`: data sets, runs and their events. */
export const serverRoutes: ServerRoutes = {
  describe: {
    method: 'GET',
    path: '/v1/server',
    right: 'work:read',
    summary: 'The versions of the server and of its routes',
    response: recordCodec<ServerDescription>({ version: ['version', z.string()], protocol: ['protocol', z.int()] }),
  },
  getDataSet: {
    method: 'GET',
    path: '/v1/server/datasets/:digest',
    right: 'project:write',
    summary: 'What was received of a data set',
    response: dataSetState,
  },
  appendToDataSet: {
    method: 'PUT',
    path: '/v1/server/datasets/:digest',
    right: 'project:write',
    summary: 'Append a part to a data set',
    query: recordCodec<DataSetPart>({ offset: ['offset', z.int()], totalBytes: ['total_bytes', z.int()] }),
    response: dataSetState,
  },
  listRuns: {
    method: 'GET',
    path: '/v1/server/runs',
    right: 'work:read',
    summary: 'List runs, newest first',
    query: runPageCodec,
    response: fieldCodec<readonly RunInfo[]>('items', z.array(runInfoCodec)),
  },
  createRun: {
    method: 'POST',
    path: '/v1/server/runs',
    right: 'project:write',
    summary: 'Create a run, and queue it',
    body: optionsCodec<CreateRunRequest>({
      runId: ['run_id', z.string()],
      name: ['name', z.string().optional()],
      data: ['data', z.object({ train: z.string(), test: z.string() })],
      training: ['training', wireJsonObject],
    }),
    response: runInfoCodec,
    status: 201,
  },
  getRun: {
    method: 'GET',
    path: '/v1/server/runs/:runId',
    right: 'work:read',
    summary: 'Get a run',
    response: runInfoCodec,
  },
  stopRun: {
    method: 'POST',
    path: '/v1/server/runs/:runId/stop',
    right: 'project:write',
    summary: 'Stop a run after its current operation',
    response: runInfoCodec,
  },
  resumeRun: {
    method: 'POST',
    path: '/v1/server/runs/:runId/resume',
    right: 'project:write',
    summary: 'Queue a run that has ended',
    body: resumeRunRequestSchema,
    response: runInfoCodec,
  },
  serveModel: {
    method: 'POST',
    path: '/v1/server/runs/:runId/endpoint',
    right: 'work:write',
    summary: 'Serve the model of a run; returns its name at the gateway',
    response: fieldCodec('model', z.string()),
  },
  streamEvents: {
    method: 'GET',
    path: '/v1/server/runs/:runId/events',
    right: 'work:read',
    summary: 'Stream the events of a run as server-sent events; `Last-Event-ID` resumes after an event',
    otherTypes: { response: ['text/event-stream'] },
  },
};
