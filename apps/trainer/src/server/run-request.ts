import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parse } from '@agentlightning/core/internal';
import { parseSettings } from '@agentlightning/core/settings';
import { newId } from '@agentlightning/core/store';
import { z } from 'zod';
import { isRunId } from '../config/model-name.ts';
import { isGroup, renamedHint, withCurrentKeys } from '../config/renamed-keys.ts';
import type { ServerFolder } from './server-folder.ts';

/** The keys of the training configuration that a client may choose. */
const trainingKeys = [
  'algorithm',
  'steps',
  'tasksPerStep',
  'sampling',
  'evaluation',
  'reward',
  'collection',
  'stop',
  'limits',
  'checkpoints',
] as const;

/** The keys of the group `run` that a client may choose. */
const runKeys = ['tags', 'seed', 'prices'] as const;

/** The settings of a training that a client may choose. The resolution of the configuration validates the values. */
export type TrainingChoice = Readonly<Partial<Record<(typeof trainingKeys)[number], unknown>>> & {
  readonly run?: Readonly<Partial<Record<(typeof runKeys)[number], unknown>>> | undefined;
};

/** The request to create a run. */
export interface RunRequest {
  readonly name: string;
  /** The digests of the data sets. */
  readonly data: { readonly train: string; readonly test: string };
  readonly training: TrainingChoice;
}

/** NaN without one. */
function runnerTimeoutOf(limits: unknown): number {
  return Number(isGroup(limits) ? limits['runnerTimeoutMs'] : NaN);
}

/** The longest wait of a run for a runner, in milliseconds. */
const maxRunnerTimeoutMs = 3_600_000;

const oneStage =
  'a run of a server has one stage: create a run for each, with `checkpoints: { from: "<former run>@best" }` in the next one';

const requestShape = {
  name: z.string().min(1).max(200).default('run'),
  data: z.strictObject({ train: z.string(), test: z.string() }),
  training: z
    .strictObject({
      ...unknownValues(trainingKeys),
      run: z.strictObject(unknownValues(runKeys)).optional(),
      stages: z.undefined({ error: oneStage }).optional(),
    })
    .default({}),
};

function unknownValues<TKey extends string>(keys: readonly TKey[]): Record<TKey, z.ZodOptional<z.ZodUnknown>> {
  const entries = keys.map((key) => [key, z.unknown().optional()]);
  return Object.fromEntries(entries) as Record<TKey, z.ZodOptional<z.ZodUnknown>>;
}

/** Requests of former versions have former keys. */
const storedSchema: z.ZodType<RunRequest> = z.object({
  ...requestShape,
  training: z.preprocess(
    (training) => (isGroup(training) ? withCurrentKeys(training).settings : training),
    requestShape.training,
  ),
});

const receivedSchema = z.strictObject({
  ...requestShape,
  training: requestShape.training.refine(({ limits }) => !(runnerTimeoutOf(limits) > maxRunnerTimeoutMs), {
    path: ['limits', 'runnerTimeoutMs'],
    message: `must be at most ${maxRunnerTimeoutMs}: a run without a runner holds a slot of the server`,
  }),
  run_id: z.string().refine(isRunId, 'must be 1 to 64 letters, digits, underscores and single hyphens').optional(),
});

/**
 * Reads a request of a client. Its id makes a repeated request find the run.
 *
 * @throws AgentLightningError CONFIG that names each wrong field, with the most similar known one
 */
export function parseRunRequest(value: unknown): { readonly runId: string; readonly request: RunRequest } {
  const { run_id: runId = newId('run'), ...request } = parseSettings(receivedSchema, value, {
    what: 'the run',
    hintOf: (key) => {
      const hint = renamedHint(key);
      return hint === null ? null : `it ${hint}`;
    },
  });
  return { runId, request };
}

/** Writes the request of a run; a reader has the former one or this one. */
export async function writeRunRequest(folder: ServerFolder, runId: string, request: RunRequest): Promise<void> {
  const file = folder.requestFile(runId);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(`${file}.draft`, JSON.stringify(request));
  await rename(`${file}.draft`, file);
}

/** Removes the request of a run that was not created. */
export async function removeRunRequest(folder: ServerFolder, runId: string): Promise<void> {
  await rm(folder.requestFile(runId), { force: true });
}

/** The request that a run was created with; null for a run that was not created by this server. */
export async function readRunRequest(folder: ServerFolder, runId: string): Promise<RunRequest | null> {
  const text = await readFile(folder.requestFile(runId), 'utf8').catch(() => null);
  return text === null ? null : parse(storedSchema, JSON.parse(text), `the request of run ${runId}`);
}
