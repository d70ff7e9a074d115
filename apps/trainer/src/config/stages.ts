import type { PresentStage, ResolvedConfig } from './resolve-config.ts';

/**
 * The configuration of one stage of a run. `steps` is the step of the run at which the stage ends.
 *
 * @returns the same configuration for a run without stages
 */
export function stageConfig(
  config: ResolvedConfig,
  { index, firstStep }: Omit<PresentStage, 'totalSteps'>,
): ResolvedConfig {
  const stage = config.stages[index];
  if (stage === undefined) return config;
  const { from: _from, train, trainSchema: _schema, ...settings } = stage;
  const steps = firstStep + stage.steps;
  const later = config.stages.slice(index + 1).reduce((sum, each) => sum + each.steps, 0);
  return {
    ...config,
    ...settings,
    tasks: { ...config.tasks, train },
    steps,
    stage: { index, firstStep, totalSteps: steps + later },
  };
}

/** The configurations of all stages, before the run begins; the configuration itself without stages. */
export function stageConfigs(config: ResolvedConfig): readonly ResolvedConfig[] {
  if (config.stages.length === 0) return [config];
  let firstStep = 0;
  return config.stages.map(({ steps }, index) => {
    const stage = stageConfig(config, { index, firstStep });
    firstStep += steps;
    return stage;
  });
}

/** The number of steps before the present stage; 0 without stages. */
export function stepsBefore({ stage }: Pick<ResolvedConfig, 'stage'>): number {
  return stage?.firstStep ?? 0;
}

/** The number of steps of the whole run. */
export function totalSteps({ stage, steps }: Pick<ResolvedConfig, 'stage' | 'steps'>): number {
  return stage?.totalSteps ?? steps;
}

/** Whether the run ends with this configuration. */
export function isLastStage({ stage, stages }: Pick<ResolvedConfig, 'stage' | 'stages'>): boolean {
  return stage === null || stage.index === stages.length - 1;
}
