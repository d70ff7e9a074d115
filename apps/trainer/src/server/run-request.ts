import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AgentLightningError } from '@agentlightning/core';
import { parseSettings } from '@agentlightning/core/settings';
import { z } from 'zod';
import type { ServerFolder } from './server-folder.ts';

/** The keys of the training configuration that a client may choose. */
const trainingKeys = [
  'algorithm',
  'steps',
  'tasksPerStep',
  'seed',
  'sampling',
  'evaluation',
  'rewards',
  'collection',
  'diagnosis',
  'stopAtReward',
  'stopWhen',
  'rolloutTimeoutMs',
  'maxAttempts',
  'runnerTimeoutMs',
  'checkpointEvery',
  'keepCheckpoints',
  'maxLogprobGap',
] as const;

/** The settings of a training that a client may choose. The resolution of the configuration validates the values. */
export type TrainingChoice = Readonly<Partial<Record<(typeof trainingKeys)[number], unknown>>>;

/** The request to create a run. */
export interface RunRequest {
  readonly name: string;
  /** The digests of the data sets. */
  readonly data: { readonly train: string; readonly test: string };
  readonly training: TrainingChoice;
}

const requestSchema: z.ZodType<RunRequest> = z.strictObject({
  name: z.string().min(1).max(200).default('run'),
  data: z.strictObject({ train: z.string(), test: z.string() }),
  training: z.strictObject(Object.fromEntries(trainingKeys.map((key) => [key, z.unknown().optional()]))).default({}),
});

/** @throws AgentLightningError CONFIG that names each wrong field, with the most similar known one */
export function parseRunRequest(value: unknown): RunRequest {
  if (typeof value === 'object' && value !== null) return parseSettings(requestSchema, value, { what: 'the run' });
  throw new AgentLightningError({
    code: 'VALIDATION',
    message: 'the request to create a run is not a JSON object',
    remedy: 'Send name, data and training.',
  });
}

/** Writes the request of a run; a reader has the former one or this one. */
export async function writeRunRequest(folder: ServerFolder, runId: string, request: RunRequest): Promise<void> {
  const file = folder.requestFile(runId);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(`${file}.draft`, JSON.stringify(request));
  await rename(`${file}.draft`, file);
}

/** The request that a run was created with; null for a run that was not created by this server. */
export async function readRunRequest(folder: ServerFolder, runId: string): Promise<RunRequest | null> {
  const text = await readFile(folder.requestFile(runId), 'utf8').catch(() => null);
  return text === null ? null : parseRunRequest(JSON.parse(text));
}
