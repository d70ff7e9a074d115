import { AgentLightningError, type Run } from '@agentlightning/core';
import { type NeededVersion, neededVersions, readDeployment } from '@agentlightning/core/protocol';
import { runFromRow } from '../../rows/row.ts';
import type { OperationContext } from '../../sql/operation-runner.ts';

const hasDeploymentRecord = `state LIKE '%"kind":"deployment"%'`;

/** The condition of deployments, whose traces expire one by one. */
export const isDeployment: string = `status = 'running' AND ${hasDeploymentRecord}`;

/** The condition of versions of data sets, which are kept until they are deleted by name. */
export function isDataset(table: string): string {
  return `${table}.state LIKE '%"kind":"dataset"%'`;
}

const roleTexts: Readonly<Record<DeployedRun['role'], (version: string) => string>> = {
  live: (version: string) => `${version} is live in`,
  candidate: (version: string) => `${version} is the candidate of`,
  previous: (version: string) => `a rollback restores ${version} in`,
};

/** A run that a deployment needs. */
export interface DeployedRun {
  readonly deployment: string;
  /** Such as `run-1a2b@30`. */
  readonly version: string;
  readonly role: 'live' | 'candidate' | 'previous';
}

/**
 * The runs that are live in a deployment, its candidate, or what a rollback restores, by id.
 *
 * @param deleted - a run to be deleted, whose needs do not count
 * @throws AgentLightningError CONFLICT when the record of a deployment cannot be read: what it needs is unknown
 */
export async function deployedRuns(
  context: OperationContext,
  deleted: string | null = null,
): Promise<ReadonlyMap<string, DeployedRun>> {
  const deployed = new Map<string, DeployedRun>();
  const rows = await context.db.all(`SELECT * FROM runs WHERE ${hasDeploymentRecord} ORDER BY position`, []);
  for (const row of rows) {
    const run = runFromRow(row);
    if (run.runId === deleted) continue;
    for (const { role, version } of neededOf(run)) {
      if (version.run === null || deployed.has(version.run)) continue;
      deployed.set(version.run, { deployment: run.runId, version: version.version, role });
    }
  }
  return deployed;
}

/**
 * Checks that no other deployment needs a run.
 *
 * @throws AgentLightningError CONFLICT
 */
export async function assertNotDeployed(context: OperationContext, runId: string): Promise<void> {
  const deployed = (await deployedRuns(context, runId)).get(runId);
  if (deployed === undefined) return;
  const { deployment, version, role } = deployed;
  throw new AgentLightningError({
    code: 'CONFLICT',
    message: `Run ${runId} cannot be deleted: ${roleTexts[role](version)} the deployment ${deployment}`,
    remedy: `Deploy other versions to ${deployment} first, or delete the deployment if it is abandoned: \`agl store delete --run ${deployment} --force\`.`,
    details: { runId, deployment, version, role },
  });
}

function neededOf(run: Run): readonly NeededVersion[] {
  try {
    const state = readDeployment(run);
    return state === null ? [] : neededVersions(state);
  } catch (error) {
    throw new AgentLightningError({
      code: 'CONFLICT',
      message: `nothing is deleted: the record of the deployment ${run.runId} cannot be read, and it may need any run`,
      remedy: `Deploy to ${run.runId} with the version of the package that wrote the record, or delete the deployment: \`agl store delete --run ${run.runId} --force\`.`,
      details: { deployment: run.runId },
      cause: error,
    });
  }
}
