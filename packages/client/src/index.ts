export type { TaskSchema } from '@agentlightning/core/internal';
export type { RunCheckpoint, RunEvent, RunInfo, TrainingEvent, VerdictName } from '@agentlightning/core/protocol';
export type { ClientOptions, JoinOptions, TrainOptions } from './client.ts';
export { AgentLightningClient } from './client.ts';
export type { TaskSource, UploadedData } from './data-set.ts';
export type { ClientRun, ModelEndpoint, RunResult } from './run.ts';
