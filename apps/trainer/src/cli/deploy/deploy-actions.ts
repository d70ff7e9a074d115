import { userInfo } from 'node:os';
import { AgentLightningError, type Store } from '@agentlightning/core';
import type { DeploymentState, ModelVersion } from '@agentlightning/core/protocol';
import { assertNotWorse } from '../../deployments/assert-not-worse.ts';
import { assessCanary, type CanaryAssessment } from '../../deployments/assess-canary.ts';
import type { MetricVerdict } from '../../deployments/canary-verdict.ts';
import { promote, promoteCandidate, rollback, startCanary } from '../../deployments/change-deployment.ts';
import { endpointVersionOf, modelVersionOf } from '../../deployments/model-version.ts';
import { textTable } from '../../report/text-formats.ts';
import { findDeployments } from '../../run/find-deployments.ts';
import { findReferencedRun } from '../../run/referenced-run.ts';
import { endpointOf } from '../evaluation/subject-options.ts';
import { openExistingStore } from '../open-existing-store.ts';

/** The flags of `agl deployments` and `agl models`. */
export interface ListFlags {
  readonly store: string;
  readonly json?: boolean;
}

/** The flags of `agl deploy`. */
export interface DeployFlags extends ListFlags {
  readonly to: string;
  /** In (0, 1]; absent: all traffic. */
  readonly share?: number;
  readonly promoteWhen?: 'better';
  readonly maxCost: number;
  readonly promote?: boolean;
  readonly rollback?: boolean;
  readonly reason: string;
  readonly acceptWorse?: boolean;
  readonly endpoint?: string;
  readonly model?: string;
  readonly keyEnv?: string;
}

/**
 * Makes a version live or a candidate, promotes the candidate, or goes back.
 *
 * @throws AgentLightningError CONFIG without exactly one of these; otherwise as the functions of `change-deployment.ts`
 */
export async function deploy(reference: string | null, flags: DeployFlags): Promise<void> {
  const { to: name } = flags;
  const isVersion = reference !== null || flags.endpoint !== undefined;
  if ([isVersion, flags.promote === true, flags.rollback === true].filter(Boolean).length !== 1) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: 'agl deploy takes one of a version, --promote and --rollback',
      remedy: `Run \`agl deploy <run>@best --to ${name} --share 10%\`, then \`agl deploy --to ${name} --promote\` or \`--rollback\`.`,
    });
  }
  if (flags.share === undefined && flags.promoteWhen !== undefined) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: '--promote-when has no effect without --share: the version becomes live at once',
      remedy: 'Pass `--share 10%` as well, or leave it out.',
    });
  }
  if (flags.acceptWorse === true && (flags.rollback === true || flags.reason.trim() === '')) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: '--accept-worse needs a version or --promote, and a reason, which the history records',
      remedy: `Run \`agl deploy <version> --to ${name} --accept-worse --reason "<why>"\`.`,
    });
  }
  await withStore(flags, async (store) => {
    const state = await changed(store, reference, flags);
    write([flags.json === true ? JSON.stringify(deploymentRecord(name, state, null)) : changeText(name, state)]);
  });
}

async function changed(store: Store, reference: string | null, flags: DeployFlags): Promise<DeploymentState> {
  const { to: name, share } = flags;
  const reason = flags.acceptWorse === true ? `accepted although worse: ${flags.reason}` : flags.reason;
  const author = { by: userInfo().username, reason };
  const isFallAccepted = flags.acceptWorse === true;
  if (flags.promote === true) return await promoteCandidate(store, name, { ...author, isFallAccepted });
  if (flags.rollback === true) return await rollback(store, name, author);
  const version = await versionOf(store, reference, flags);
  if (share === undefined) return await promote(store, name, { ...author, version });
  const options = {
    share,
    isPromotedWhenBetter: flags.promoteWhen === 'better',
    maxCostRatio: flags.maxCost,
    isFallAccepted,
  };
  return await startCanary(store, name, { ...author, version, options });
}

/** The version that a reference and the flags of an endpoint name. */
async function versionOf(
  store: Store,
  reference: string | null,
  flags: Pick<DeployFlags, 'endpoint' | 'model' | 'keyEnv' | 'acceptWorse'>,
): Promise<ModelVersion> {
  const endpoint = endpointOf(flags);
  if (reference !== null) {
    const { run, choice } = await findReferencedRun(store, reference);
    const version = modelVersionOf(run, choice, endpoint);
    if (flags.acceptWorse !== true) assertNotWorse(run, version);
    return version;
  }
  if (endpoint !== null) return endpointVersionOf(endpoint);
  throw new AgentLightningError({ code: 'CONFIG', message: 'no version is given', remedy: 'Pass `<run>@best`.' });
}

function changeText(name: string, { live, candidate, history }: DeploymentState): string {
  const last = history.at(-1);
  if (candidate !== null) {
    return `${candidate.version} is the candidate of ${name} for ${percentOf(candidate.share)} of the users; ${live} has the others.`;
  }
  return `${live} is live in ${name}${last?.previous == null ? '' : `, instead of ${last.previous}`}.`;
}

function percentOf(share: number): string {
  return `${Number((share * 100).toFixed(2))} %`;
}

/** Writes the deployments of a store, with the verdicts on their candidates. */
export async function listDeployments(flags: ListFlags): Promise<void> {
  await withStore(flags, async (store) => {
    const found = await findDeployments(store);
    const assessed: AssessedDeployment[] = [];
    for (const { name, state } of found) {
      assessed.push({ name, state, assessment: await assessCanary(store, name, state) });
    }
    if (flags.json === true) {
      return write(
        assessed.map(({ name, state, assessment }) => JSON.stringify(deploymentRecord(name, state, assessment))),
      );
    }
    if (found.length === 0) return write(['No deployment yet. `agl deploy <run>@best --to <name>` creates one.']);
    const rows = assessed.map(({ name, state: { live, candidate, history }, assessment }) => {
      const last = history.at(-1);
      const since = last === undefined ? '-' : new Date(last.timeMs).toISOString();
      const trial = candidate === null ? '-' : `${candidate.version} (${percentOf(candidate.share)})`;
      return [name, live ?? '-', trial, assessment?.verdict ?? '-', since, last?.by ?? '-', last?.reason ?? ''];
    });
    write(textTable(['deployment', 'live', 'candidate', 'verdict', 'changed', 'by', 'reason'], rows));
    for (const { name, assessment } of assessed) if (assessment !== null) write(verdictLines(name, assessment));
  });
}

interface AssessedDeployment {
  readonly name: string;
  readonly state: DeploymentState;
  readonly assessment: CanaryAssessment | null;
}

/** The evidence for a verdict. */
function verdictLines(name: string, { metrics, guard }: CanaryAssessment): readonly string[] {
  const rows = metrics.map((metric) => {
    const { live, candidate, liveCount, candidateCount, low, high, verdict, reason } = metric;
    if (low === null || high === null) return [metric.metric, verdict, '-', '-', '-', reason];
    const side = (mean: number | null, count: number): string => `${valueText(metric, mean)} of ${count}`;
    const bounds = `${valueText(metric, low)} to ${valueText(metric, high)}`;
    return [metric.metric, verdict, side(candidate, candidateCount), side(live, liveCount), bounds, ''];
  });
  const table = textTable([name, 'verdict', 'candidate', 'live', 'difference', 'reason'], rows);
  return ['', ...table, ...(guard === null ? [] : [`To be rolled back: ${guard}.`])];
}

function valueText({ metric }: MetricVerdict, value: number | null): string {
  if (value === null) return '-';
  if (metric === 'failures') return percentOf(value);
  return metric === 'latency' ? `${value.toFixed(2)} s` : value.toPrecision(3);
}

/**
 * Writes the versions of all deployments, or one of them.
 *
 * @throws AgentLightningError NOT_FOUND for an unknown version
 */
export async function listModels(version: string | null, flags: ListFlags): Promise<void> {
  await withStore(flags, async (store) => {
    const known = await modelsOf(store);
    const models = version === null ? known : known.filter((model) => model.version === version);
    if (version !== null && models.length === 0) {
      throw new AgentLightningError({
        code: 'NOT_FOUND',
        message: `no deployment has had the version "${version}"`,
        remedy: 'Read `agl models`.',
      });
    }
    if (flags.json === true) return write(models.map((model) => JSON.stringify(model)));
    if (version !== null) return write(models.map((model) => JSON.stringify(model, null, 2)));
    if (models.length === 0) return write(['No version has been deployed yet.']);
    const rows = models.map(({ version: name, kind, baseModel, reward, deployments }) => {
      const live = deployments.map((each) => (each.isLive ? `${each.name} (live)` : each.name)).join(', ');
      return [name, kind, baseModel ?? '-', reward === null ? '-' : reward.toFixed(2), live];
    });
    write(textTable(['version', 'kind', 'base model', 'reward', 'deployments'], rows));
  });
}

/** A version, and where it is or was live. */
type ListedModel = ModelVersion & {
  readonly deployments: readonly { readonly name: string; readonly isLive: boolean }[];
};

async function modelsOf(store: Store): Promise<readonly ListedModel[]> {
  const models = new Map<string, ListedModel>();
  for (const { name, state } of await findDeployments(store)) {
    for (const version of state.versions) {
      const earlier = models.get(version.version)?.deployments ?? [];
      const deployments = [...earlier, { name, isLive: state.live === version.version }];
      models.set(version.version, { ...version, deployments });
    }
  }
  return [...models.values()];
}

function deploymentRecord(
  deployment: string,
  { live, candidate, history }: DeploymentState,
  assessment: CanaryAssessment | null,
): object {
  const changes = history.map(({ timeMs, ...change }) => ({ ...change, time: new Date(timeMs).toISOString() }));
  return { deployment, live, candidate: candidateRecord(candidate, assessment), history: changes };
}

function candidateRecord(candidate: DeploymentState['candidate'], assessment: CanaryAssessment | null): object | null {
  if (candidate === null) return null;
  const { version, share, sinceMs, isPromotedWhenBetter, maxCostRatio } = candidate;
  const verdict = assessment === null ? null : verdictRecord(assessment);
  const promoteWhen = isPromotedWhenBetter ? 'better' : null;
  return { version, share, since: new Date(sinceMs).toISOString(), promoteWhen, maxCostRatio, verdict };
}

function verdictRecord({ verdict, guard, metrics, evidence }: CanaryAssessment): object {
  const traces = { live: evidence.live.traces, candidate: evidence.candidate.traces };
  return { verdict, guard, traces, metrics };
}

async function withStore(flags: ListFlags, work: (store: Store) => Promise<void>): Promise<void> {
  const store = await openExistingStore(flags.store);
  try {
    await work(store);
  } finally {
    await store.close();
  }
}

function write(lines: readonly string[]): void {
  for (const line of lines) process.stdout.write(`${line}\n`);
}
