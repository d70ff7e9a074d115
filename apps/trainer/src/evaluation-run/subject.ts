import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { AgentLightningError, type Run, type Store } from '@agentlightning/core';
import type { JudgedPrompts, PromptSet } from '@agentlightning/core/algorithm';
import { z } from 'zod';
import { isCheckpointReference } from '../config/checkpoint-reference.ts';
import { policyKey } from '../config/policies.ts';
import { resolvePrompts } from '../config/resolve-prompts.ts';
import { isPromptSearch } from '../config/resolve-run.ts';
import { readSearchState } from '../prompt-search/search-run-state.ts';
import { chooseCheckpoint } from '../run/choose-checkpoint.ts';
import { findReferencedRun, type ReferencedRun } from '../run/referenced-run.ts';
import { isSearchRun, type RunState, readRunState } from '../run/run-state.ts';
import type { EvaluationSettings } from './evaluation-settings.ts';

/** A model with prompts. */
export interface Subject {
  /** `base`, `endpoint gpt-4.1-mini` or `run-1a2b@best (step 40)`. */
  readonly label: string;
  readonly model:
    | { readonly type: 'base' }
    | { readonly type: 'endpoint' }
    | { readonly type: 'checkpoint'; readonly run: Run; readonly state: RunState };
  /** The prompts of its rollouts; null for those of the source. */
  readonly prompts: PromptSet | null;
}

/**
 * Finds the subject of a reference; see `of` of the options.
 *
 * @throws AgentLightningError CONFIG for another text; NOT_FOUND without the run, the checkpoint, the version or the file
 */
export async function resolveSubject(reference: string, settings: EvaluationSettings, store: Store): Promise<Subject> {
  const { endpoint, prompts } = settings;
  if (reference === 'base') return { label: 'base', model: { type: 'base' }, prompts };
  if (reference === 'endpoint') {
    if (endpoint === null) throw noEndpoint();
    return { label: `endpoint ${endpoint.model}`, model: { type: 'endpoint' }, prompts };
  }
  if (reference.endsWith('.json')) return withPrompts(settings, reference, await readPrompts(reference));
  if (!isCheckpointReference(reference)) throw unknownReference(reference);
  return savedSubject(await findReferencedRun(store, reference), settings);
}

function savedSubject({ run, choice }: ReferencedRun, settings: EvaluationSettings): Subject {
  const { runId } = run;
  if (isSearchRun(run)) {
    const version = chooseVersion(run, choice);
    const name = version.version === choice ? choice : `${choice} (${version.version})`;
    return withPrompts(settings, `${runId}@${name}`, version.prompts);
  }
  const { config } = settings;
  if (isPromptSearch(config)) throw notOfSearch(runId);
  const state = readRunState(run, config.dataDir);
  const checkpoint = chooseCheckpoint(state, choice);
  for (const policy of config.policies) {
    if (policy.algorithm !== null && checkpoint.uris[policyKey(policy)] === undefined)
      throw otherPolicies(runId, policyKey(policy));
  }
  const { step } = checkpoint;
  const label = `${runId}@${choice}${String(step) === choice ? '' : ` (step ${step})`}`;
  return { label, model: { type: 'checkpoint', run, state: { ...state, checkpoint } }, prompts: null };
}

function withPrompts({ endpoint }: EvaluationSettings, label: string, prompts: PromptSet): Subject {
  return { label, model: { type: endpoint === null ? 'base' : 'endpoint' }, prompts };
}

function chooseVersion(run: Run, choice: string): JudgedPrompts {
  const { versions, best } = readSearchState(run);
  const wanted = choice === 'best' ? best : choice;
  const chosen = choice === 'latest' ? versions.at(-1) : versions.find(({ version }) => version === wanted);
  if (chosen !== undefined) return chosen;
  throw new AgentLightningError({
    code: 'NOT_FOUND',
    message: `prompt search ${run.runId} has no version "${choice}"`,
    remedy: `Use \`latest\`, \`best\`, or one of its versions: ${versions.map(({ version }) => version).join(', ') || 'none yet'}.`,
  });
}

const promptsSchema = z.record(
  z.string(),
  // Only examples may be empty.
  z
    .object({ template: z.string(), kind: z.string().optional(), variables: z.array(z.string()).exactOptional() })
    .refine(({ template, kind }) => template !== '' || kind === 'examples', 'template must not be empty')
    .transform(({ kind: _kind, ...prompt }) => prompt),
);

const fileSchema = z.object({ prompts: promptsSchema });

async function readPrompts(file: string): Promise<PromptSet> {
  const full = path.resolve(file);
  try {
    return resolvePrompts(fileSchema.parse(JSON.parse(await readFile(full, 'utf8'))).prompts);
  } catch (cause) {
    if (AgentLightningError.isInstance(cause)) throw cause;
    const reason =
      cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause instanceof Error ? cause.message : cause);
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `the prompts in ${full} cannot be read: ${reason}`,
      remedy: 'Pass a file such as a prompt search writes: { "prompts": { "<name>": { "template": "…" } } }.',
      cause,
    });
  }
}

function noEndpoint(): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: 'there is no endpoint to evaluate',
    remedy: 'Pass `--endpoint <url> --model <name>` (`endpoint` in code).',
  });
}

function unknownReference(reference: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `"${reference}" is not a model or prompts to evaluate`,
    remedy:
      'Use `base`, `<run>@best`, `<run>@latest`, `<run>@<step>`, a version of a prompt search such as `<run>@v3`, a `.json` file ' +
      'with prompts, or `endpoint`. `agl runs` lists the runs of a store.',
  });
}

function notOfSearch(runId: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `run ${runId} trains a model, and the configuration is that of a prompt search`,
    remedy: 'Pass the configuration file that the run was trained with.',
  });
}

function otherPolicies(runId: string, policy: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `the checkpoint of run ${runId} has no policy "${policy}"`,
    remedy: 'Pass the configuration file that the run was trained with.',
  });
}
