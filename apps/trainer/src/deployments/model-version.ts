import { createHash } from 'node:crypto';
import { AgentLightningError, type JsonObject, type Run } from '@agentlightning/core';
import { readRunProgress } from '@agentlightning/core/protocol';
import { z } from 'zod';
import { parseCheckpointReference } from '../config/checkpoint-reference.ts';
import { versionRecord } from '../prompt-search/prompts-file.ts';
import { readSearchState } from '../prompt-search/search-run-state.ts';
import { chooseCheckpoint } from '../run/choose-checkpoint.ts';
import { shapeKey } from '../run/run-shape.ts';
import { isSearchRun, readRunState } from '../run/run-state.ts';
import type { ModelVersion } from './deployment-record.ts';

/** The parts of the stored configuration of a run that are its origin. */
const originSchema = z.object({
  runtime: z.object({ model: z.string().nullish() }).optional(),
  dataDir: z.string().default(''),
  [shapeKey]: z.record(z.string(), z.json()).default({}),
});

/**
 * The version that a reference names: a checkpoint of a training, the model that a vendor trained, or prompts of a search.
 *
 * @param run - the run of the reference
 * @param reference - such as `run-1a2b@best`; for prompts, their version or `best`
 * @throws AgentLightningError NOT_FOUND without such a checkpoint or version
 */
export function modelVersionOf(run: Run, reference: string): ModelVersion {
  const { choice } = parseCheckpointReference(reference);
  const origin = originSchema.parse(run.config);
  const shared = {
    run: run.runId,
    baseModel: origin.runtime?.model ?? null,
    data: dataOf(origin[shapeKey]),
    configSha256: sha256(JSON.stringify(run.config)),
    reward: readRunProgress(run).after?.reward ?? null,
  };
  if (isSearchRun(run)) return { ...shared, ...promptsOf(run, choice) };
  const state = readRunState(run, origin.dataDir);
  if (state.vendor !== undefined) {
    const { model } = state.vendor;
    if (model === null) throw unfinished(run.runId);
    return { ...shared, version: `${run.runId}@final`, kind: 'vendor', step: null, location: model, ...noWeights };
  }
  const { step, uris } = chooseCheckpoint(state, choice);
  const digest = state.publications.findLast((each) => each.step === step)?.digest ?? null;
  return { ...shared, version: `${run.runId}@${step}`, kind: 'weights', step, location: uris, digest, prompts: null };
}

const noWeights = { digest: null, prompts: null } as const;

function promptsOf(
  run: Run,
  choice: string,
): Pick<ModelVersion, 'version' | 'kind' | 'step' | 'location' | 'digest' | 'prompts'> {
  const { versions, best } = readSearchState(run);
  const wanted = choice === 'best' || choice === 'final' ? best : choice;
  const found = versions.find(({ version }) => version === wanted);
  if (found === undefined) {
    throw new AgentLightningError({
      code: 'NOT_FOUND',
      message: `the search ${run.runId} has no version "${choice}"`,
      remedy: `Use best, or one of ${versions.map(({ version }) => version).join(', ') || 'none yet'}.`,
    });
  }
  const record: JsonObject = JSON.parse(JSON.stringify(versionRecord(found)));
  const prompts = z.record(z.string(), z.json()).parse(record['prompts']);
  const digest = `sha256:${sha256(JSON.stringify(prompts))}`;
  return { version: `${run.runId}@${found.version}`, kind: 'prompts', step: null, location: null, digest, prompts };
}

function dataOf(shape: JsonObject): string | null {
  const data = shape['tasks.train'];
  return typeof data === 'string' ? data : null;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function unfinished(runId: string): AgentLightningError {
  return new AgentLightningError({
    code: 'NOT_FOUND',
    message: `the job of run ${runId} has not ended: there is no model yet`,
    remedy: `Continue it with \`agl train --resume ${runId}\`.`,
  });
}
