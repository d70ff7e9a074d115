import { createAlgorithm } from '@agentlightning/algorithms';
import { parseAlgorithmOptions } from '@agentlightning/algorithms/internal';
import { AgentLightningError, type Store } from '@agentlightning/core';
import type { Teacher } from '@agentlightning/core/algorithm';
import { stagedPolicy } from '../config/model-name.ts';
import { policyKey, type ResolvedPolicy } from '../config/policies.ts';
import { learnerOf } from '../config/policy-learner.ts';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { chooseCheckpoint } from './choose-checkpoint.ts';
import { findReferencedRun } from './referenced-run.ts';
import { readRunState } from './run-state.ts';
import { type TeacherCheckpoint, teacherCheckpointSchema } from './teacher-checkpoint.ts';
import { baseModelOf, readSourceSettings, type SourceSettings } from './warm-start.ts';

/** The teacher of a policy's algorithm; null without one. */
export function teacherOf(policy: ResolvedPolicy): Teacher | null {
  return learnerOf(policy, policyKey(policy))?.teacher ?? null;
}

/** The key of a teacher in the state of a run: the policy, and the stage where a run has several. */
export function teacherKey({ name }: Pick<ResolvedPolicy, 'name'>, { stage }: Pick<ResolvedConfig, 'stage'>): string {
  return policyKey({ name: stagedPolicy(name, stage) });
}

/**
 * Finds the checkpoints of other runs that the policies of a configuration learn from, by {@link teacherKey}.
 *
 * @throws AgentLightningError NOT_FOUND without the run or the checkpoint, CONFIG when the run is a prompt search, or several policies
 *   could be meant
 */
export async function findTeachers(
  store: Store,
  config: ResolvedConfig,
): Promise<Readonly<Record<string, TeacherCheckpoint>>> {
  const found: Record<string, TeacherCheckpoint> = {};
  for (const policy of config.policies) {
    const teacher = teacherOf(policy);
    if (teacher === null || typeof teacher === 'string' || !('run' in teacher)) continue;
    found[teacherKey(policy, config)] = await findTeacher(store, teacher.run, { policy, dataDir: config.dataDir });
  }
  return found;
}

async function findTeacher(
  store: Store,
  reference: string,
  { policy, dataDir }: { readonly policy: ResolvedPolicy; readonly dataDir: string },
): Promise<TeacherCheckpoint> {
  const { run, choice } = await findReferencedRun(store, reference);
  const { step, uris } = chooseCheckpoint(readRunState(run, dataDir), choice);
  const [first, ...others] = Object.entries(uris);
  const own = uris[policyKey(policy)];
  const chosen = own === undefined ? first : ([policyKey(policy), own] as const);
  if (chosen === undefined || (own === undefined && others.length > 0)) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `the teacher ${reference} has the policies ${Object.keys(uris).join(', ')}, and none is named ${policyKey(policy)}`,
      remedy: 'Use a run with one policy, or with the same names in `policies`.',
    });
  }
  const [name, uri] = chosen;
  const source = readSourceSettings(run);
  const settings = source.policies.find((each) => policyKey(each) === name);
  return teacherCheckpointSchema.parse({
    runId: run.runId,
    step,
    uri,
    baseModel: baseModelOf(source, settings?.name ?? null),
    lora: source.runtime.lora ?? null,
    hasValueHead: hasValueHead(settings),
  });
}

/** Whether the policy of a stored configuration was trained with a value head. Custom algorithms are not stored. */
function hasValueHead(settings: SourceSettings['policies'][number] | undefined): boolean {
  try {
    return createAlgorithm(parseAlgorithmOptions(settings?.algorithm)).needsValueHead === true;
  } catch {
    return false;
  }
}
