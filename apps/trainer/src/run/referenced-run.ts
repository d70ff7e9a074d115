import { AgentLightningError, type Run, type Store } from '@agentlightning/core';
import { type DeploymentState, readDeployment } from '@agentlightning/core/protocol';
import { parseCheckpointReference } from '../config/checkpoint-reference.ts';

/** A run, and which of its checkpoints or versions is meant. */
export interface ReferencedRun {
  readonly run: Run;
  /** As of `chooseCheckpoint`, or the version of a prompt search. */
  readonly choice: string;
}

/**
 * Finds the run of a reference: `<run>@<choice>`, or `<deployment>@live` and `<deployment>@candidate`, which are the checkpoint or
 * the prompts that the deployment has now.
 *
 * @throws AgentLightningError CONFIG for another text, or a version that no run has made; NOT_FOUND without the run, or without
 *   such a version
 */
export async function findReferencedRun(store: Store, reference: string): Promise<ReferencedRun> {
  const { runId, choice } = parseCheckpointReference(reference);
  const run = await store.getRun(runId);
  const deployment = readDeployment(run);
  if (deployment === null) return { run, choice };
  const version = deployedVersion(runId, deployment, choice);
  const made = deployment.versions.find((each) => each.version === version);
  if (made === undefined || made.run === null) throw notMadeByRun(reference, version);
  const [, name = ''] = version.split('@');
  return { run: await store.getRun(made.run), choice: made.step === null ? name : String(made.step) };
}

function deployedVersion(name: string, { live, candidate }: DeploymentState, choice: string): string {
  const version = { live, candidate: candidate?.version ?? null }[choice];
  if (version != null) return version;
  throw new AgentLightningError({
    code: 'NOT_FOUND',
    message: `the deployment ${name} has no version "${choice}"`,
    remedy: `Use ${name}@live, or ${name}@candidate during a trial. \`agl deployments\` shows what they are.`,
  });
}

function notMadeByRun(reference: string, version: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `${reference} is ${version}, a model that no run of this store has made`,
    remedy: 'Use a version that a run has made; `agl models` shows the origin of each.',
  });
}
