export type { RunCheckpoint, RunInfo, VerdictName } from '@agentlightning/core/protocol';
export type { ClientOptions, JoinOptions, TrainOptions } from './client.ts';
export { AgentLightningClient } from './client.ts';
export type { TaskSchema, TaskSource, UploadedData } from './data-set.ts';
export type { ClientRun, ModelEndpoint, RunResult } from './run.ts';
export type { RunEvent } from './run-events.ts';
