import { createHash } from 'node:crypto';
import { AgentLightningError, type JsonObject, type Run } from '@agentlightning/core';
import type { ModelSource, ModelVersion } from '@agentlightning/core/protocol';
import { readRunProgress } from '@agentlightning/core/protocol';
import type { LoraConfig } from '@agentlightning/core/training-runtime';
import { z } from 'zod';
import type { EndpointModel } from '../evaluation-run/evaluate-options.ts';
import { versionRecord } from '../prompt-search/prompts-file.ts';
import { readSearchState } from '../prompt-search/search-run-state.ts';
import { chooseCheckpoint } from '../run/choose-checkpoint.ts';
import { shapeKey } from '../run/run-shape.ts';
import { isSearchRun, type RunState, readRunState } from '../run/run-state.ts';

/** The parts of the stored configuration of a run that are its origin. */
const originSchema = z.object({
  runtime: z
    .object({
      type: z.string().optional(),
      model: z.string().nullish(),
      address: z.string().optional(),
      baseUrl: z.string().optional(),
      lora: z
        .object({ rank: z.int(), alpha: z.number().optional(), targetModules: z.array(z.string()).optional() })
        .optional(),
    })
    .optional(),
  dataDir: z.string().default(''),
  [shapeKey]: z.record(z.string(), z.json()).default({}),
});

/**
 * A version of a run: a checkpoint of a training, the model that a vendor trained, or prompts of a search.
 *
 * @param choice - of a checkpoint, such as `best`; for prompts, their version or `best`
 * @param endpoint - the endpoint that serves it, instead of the runtime of the run; null for none
 * @throws AgentLightningError NOT_FOUND without such a checkpoint or version
 */
export function modelVersionOf(run: Run, choice: string, endpoint: EndpointModel | null = null): ModelVersion {
  const origin = originSchema.parse(run.config);
  const shared = {
    run: run.runId,
    baseModel: origin.runtime?.model ?? null,
    license: null,
    data: dataOf(origin[shapeKey]),
    configSha256: sha256(JSON.stringify(run.config)),
    reward: readRunProgress(run).after?.reward ?? null,
  };
  if (isSearchRun(run)) return { ...shared, ...promptsOf(run, choice), source: null };
  const state = readRunState(run, origin.dataDir);
  if (state.vendor !== undefined) {
    const { model } = state.vendor;
    if (model === null) throw unfinished(run.runId);
    const baseUrl = origin.runtime?.baseUrl ?? 'https://api.openai.com/v1';
    const source = endpointSource(endpoint ?? { baseUrl, model, apiKey: { env: 'OPENAI_API_KEY' } });
    return {
      ...shared,
      version: `${run.runId}@final`,
      kind: 'vendor',
      step: null,
      location: model,
      source,
      ...noWeights,
    };
  }
  const { step, uris } = chooseCheckpoint(state, choice);
  const digest = state.publications.findLast((each) => each.step === step)?.digest ?? null;
  const source = endpoint === null ? runtimeSource(origin.runtime) : endpointSource(endpoint);
  const version = `${run.runId}@${step}`;
  return { ...shared, ...baseOf(state), version, kind: 'weights', step, location: uris, digest, source, prompts: null };
}

/** The base model of the policies where it is one, as the runtime has described it. */
function baseOf({ baseModels = {} }: RunState): Partial<Pick<ModelVersion, 'baseModel' | 'license'>> {
  const [base, ...others] = Object.values(baseModels);
  if (base === undefined || others.some(({ name }) => name !== base.name)) return {};
  return { baseModel: base.name, license: base.license };
}

/** The version of a model that no run has made, such as the one that an application has used so far. */
export function endpointVersionOf(endpoint: EndpointModel): ModelVersion {
  const { model } = endpoint;
  const unknown = { run: null, step: null, data: null, configSha256: null, reward: null, ...noWeights };
  return {
    version: model,
    kind: 'endpoint',
    baseModel: model,
    license: null,
    location: model,
    source: endpointSource(endpoint),
    ...unknown,
  };
}

/** The record names the variable of a key, and never holds the key. */
function endpointSource({ baseUrl, model, apiKey }: EndpointModel): ModelSource {
  return { type: 'endpoint', baseUrl, model, keyVariable: typeof apiKey === 'object' ? apiKey.env : null };
}

/** The runtime that has the checkpoint; null for one that serves only runs. */
function runtimeSource(runtime: z.infer<typeof originSchema>['runtime']): ModelSource | null {
  const { type, address, lora } = runtime ?? {};
  if (type === 'embedded') return { type };
  if (type !== 'grpc' || address === undefined) return null;
  return { type, address, lora: lora === undefined ? null : (JSON.parse(JSON.stringify(lora)) as LoraConfig) };
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
  const record: JsonObject = JSON.parse(JSON.stringify(versionRecord(found, readRunProgress(run).search?.kinds ?? {})));
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
