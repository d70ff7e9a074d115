/**
 * The naming scheme of a run's models in the runtime, which stores checkpoints by model name. `two-hyphens`: names are
 * unique. `one-hyphen`: the scheme of older runs, in which policy `b` of run `a` and run `a-b` have the same model `a-b`.
 *
 * A dot or a slash would need a new version of the runtime contract, and the author of an upstream configuration could not
 * predict a digest. Every checkpoint stores the id of its run, so that no run resumes from the checkpoint of another, also on
 * case-insensitive file systems. A folder with a name of the older scheme may belong to another run and is not deleted with
 * this one.
 */
export type ModelNaming = 'one-hyphen' | 'two-hyphens';

/** The parts of a model name. */
export interface ModelNameParts {
  readonly runId: string;
  /** Null for an unnamed policy. */
  readonly policy: string | null;
  readonly naming: ModelNaming;
}

/**
 * The name of a policy's model in the runtime. Names are unique for run ids that satisfy {@link isRunId}: the first double
 * hyphen ends the run id.
 */
export function modelName({ runId, policy, naming }: ModelNameParts): string {
  if (policy === null) return runId;
  return `${runId}${naming === 'one-hyphen' ? '-' : '--'}${policy}`;
}

/** The policy in the names of the models of a later stage, which has one policy without a name. */
export function stagedPolicy(policy: string | null, stage: { readonly index: number } | null): string | null {
  return stage === null || stage.index === 0 ? policy : `stage${stage.index + 1}`;
}

/** The name of a policy's reference model, the initial model. Policy names cannot end with this suffix. */
export function referenceName(runId: string, policy: string | null): string {
  return modelName({ runId, policy: policy === null ? 'reference' : `${policy}-reference`, naming: 'two-hyphens' });
}

/** The name of the model that a policy learns from. Policy names cannot end with this suffix. */
export function teacherName(runId: string, policy: string | null): string {
  return modelName({
    runId,
    policy: policy === null ? 'teacherreference' : `${policy}-teacherreference`,
    naming: 'two-hyphens',
  });
}

/**
 * The first part of the names of a run's models: the run id, qualified by the project of the server. Names of different projects
 * are different, and differ from those without a project.
 */
export function qualifiedRunId(runId: string, project: string | undefined): string {
  return project === undefined ? runId : `${project}--run--${runId}`;
}

/** The project of a checkpoint, by the model name in its URI; undefined for the runs that belong to none. */
export function projectOfCheckpoint(uri: string): string | undefined {
  return /(?:^|\/)([^/]+?)--run--[^/]*(?:\/|$)/.exec(uri)?.[1];
}

/** Whether a model of the runtime is one of a run that belongs to no project of a server. */
export function isModelOf(runId: string, name: string): boolean {
  return name === runId || (name.startsWith(`${runId}--`) && !name.startsWith(qualifiedRunId('', runId)));
}

/** Whether a run id is valid: usable in file names and in {@link modelName}. */
export function isRunId(text: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(text) && !text.includes('--') && !text.endsWith('-');
}
