/**
 * How a run calls its models in the runtime, which keeps their checkpoints under these names. `two-hyphens`: run and
 * policy can be told apart. `one-hyphen`: as runs did that began before, where policy `b` of run `a` is the model `a-b`,
 * and so is that of run `a-b`.
 */
export type ModelNaming = 'one-hyphen' | 'two-hyphens';

/** What a name is made of. */
export interface ModelNameParts {
  readonly runId: string;
  /** Null for the only policy of a run that does not name any. */
  readonly policy: string | null;
  readonly naming: ModelNaming;
}

/**
 * The name of a policy's model in the runtime: no two models of runs have the same one, as long as {@link isRunId} holds
 * for the ids of the runs. The first two hyphens are where the run ends.
 */
export function modelName({ runId, policy, naming }: ModelNameParts): string {
  if (policy === null) return runId;
  return `${runId}${naming === 'one-hyphen' ? '-' : '--'}${policy}`;
}

/** The name of a policy's model as it was at the start, which is nowhere saved. Names of policies do not end like it. */
export function referenceName(runId: string, policy: string | null): string {
  return modelName({ runId, policy: policy === null ? 'reference' : `${policy}-reference`, naming: 'two-hyphens' });
}

/** Whether a new run may have an id: one that can be part of a file's name, and of {@link modelName}. */
export function isRunId(text: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(text) && !text.includes('--') && !text.endsWith('-');
}
