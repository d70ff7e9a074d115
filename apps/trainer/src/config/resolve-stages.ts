import { AgentLightningError } from '@agentlightning/core';
import { parseSettings } from '@agentlightning/core/settings';
import { z } from 'zod';
import { stagedAgent } from '../user-modules/staged-agent.ts';
import { withType } from './algorithm-name.ts';
import type { ConfigProblems } from './config-problems.ts';
import { isGroup } from './renamed-keys.ts';
import { type ResolvedConfig, type ResolvedStage, resolveConfig } from './resolve-config.ts';
import { type GivenStage, stageKeys, stageSchema } from './sections/stages-config.ts';

type Settings = Readonly<Record<string, unknown>>;

const stagesSchema = z.array(stageSchema).min(1);

/**
 * Validates a configuration with stages. Its settings are those of the last stage, with the steps of all.
 *
 * @param given - the configuration, with `stages`
 * @param options.folder - base folder of relative paths
 * @param options.problems - problems found by earlier checks
 * @throws AgentLightningError CONFIG that reports every problem; those of a stage begin with its place, such as `stages[1]`
 */
export function resolveStages(
  given: Settings,
  { folder, problems }: { readonly folder: string; readonly problems: ConfigProblems },
): ResolvedConfig {
  const { stages: list, ...shared } = given;
  problems.check(() => assertUnstaged(shared));
  const { stages } = problems.check(() => parseSettings(z.object({ stages: stagesSchema }), { stages: list })) ?? {};
  const { algorithm: _algorithm, steps: _steps, stop: _stop, data: _data, ...settings } = shared;
  const all = (stages ?? []).flatMap(
    (stage, index) => problems.check(() => inStage(index, () => resolveStage(settings, stage, folder))) ?? [],
  );
  const last = all.at(-1);
  if (!problems.isEmpty || last === undefined || stages === undefined) throw problems.error();
  return {
    ...last.config,
    agent: stagedAgent(last.config.agent, stages),
    steps: all.reduce((sum, { stage }) => sum + stage.steps, 0),
    stages: all.map(({ stage }) => stage),
  };
}

function resolveStage(
  settings: Settings,
  { from, tasks: own, agent: _agent, ...stage }: GivenStage,
  folder: string,
): { readonly config: ResolvedConfig; readonly stage: ResolvedStage } {
  const { collection, ...others } = settings;
  const shared: Settings = isGroup(settings['tasks']) ? settings['tasks'] : {};
  const { train, ...heldOut } = shared;
  const isStored = stage.data !== undefined;
  const config = resolveConfig(
    {
      ...others,
      ...Object.fromEntries(Object.entries(stage).filter(([, value]) => value !== undefined)),
      algorithm: withType(stage.algorithm),
      ...(isStored || collection === undefined ? {} : { collection }),
      // Evaluations of all stages are sampled alike.
      evaluation: { sampling: settings['sampling'] ?? { temperature: 1 }, ...(settings['evaluation'] ?? {}) },
      tasks: isStored ? { ...heldOut, ...own } : { ...heldOut, ...own, train: own?.train ?? train },
    },
    folder,
  );
  if (config.runtime.type === 'openai-fine-tuning') throw vendor();
  const { algorithm, policies, steps, tasksPerStep, sampling, stop, data, tasks, taskSchema } = config;
  return {
    // Evaluations have the schema of the configuration.
    config: {
      ...config,
      taskSchema: own?.schema === undefined ? taskSchema : ((shared['schema'] ?? null) as typeof taskSchema),
    },
    stage: {
      ...{ algorithm, policies, steps, tasksPerStep, sampling, stop, data },
      collection: config.collection,
      from,
      train: tasks.train,
      trainSchema: taskSchema,
    },
  };
}

/** Names the stage of a problem. */
function inStage<TResult>(index: number, resolve: () => TResult): TResult {
  try {
    return resolve();
  } catch (error) {
    if (!AgentLightningError.isInstance(error)) throw error;
    const { code, remedy, details } = error;
    const message = `stages[${index}]: ${error.message.replace(/^\[\w+\] /, '')}`;
    throw new AgentLightningError({ code, message, remedy, details, cause: error });
  }
}

/** @throws AgentLightningError CONFIG for a key that each stage has for itself, or that stages exclude */
function assertUnstaged(shared: Settings): void {
  const misplaced = stageKeys.filter((key) => shared[key] !== undefined);
  if (misplaced.length > 0) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `${misplaced.join(', ')}: with \`stages\`, each stage has its own`,
      remedy: `Move ${misplaced.length === 1 ? 'it' : 'them'} into the stages (of the command line, \`--steps\` has no place there).`,
    });
  }
  if (shared['policies'] === undefined) return;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: 'policies: a run with `stages` has one policy',
    remedy: 'Remove `policies`, or train in several runs that begin with `checkpoints.from`.',
  });
}

function vendor(): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: 'runtime: the fine-tuning API of a vendor has no stages',
    remedy: 'Remove `stages`, or choose another runtime.',
  });
}
