import { AgentLightningError } from '@agentlightning/core';
import type { ConfigProblems } from './config-problems.ts';

/** The former keys of a configuration, with the paths of those that replaced them; null for a key without effect. */
export const renamedKeys: Readonly<Record<string, string | null>> = {
  rewards: 'reward',
  taskSchema: 'tasks.schema',
  workers: 'agents.processes',
  concurrency: 'agents.concurrency',
  inProcess: 'agents.inProcess',
  modelNames: 'agents.modelNames',
  failedReward: 'reward.failed',
  missingReward: 'reward.missing',
  'evaluation.failedReward': 'reward.failed',
  'evaluation.missingReward': 'reward.missing',
  'evaluation.rewardRange': 'reward.range',
  'algorithm.missingReward': 'reward.missing',
  from: 'checkpoints.from',
  checkpointEvery: 'checkpoints.every',
  keepCheckpoints: 'checkpoints.keep',
  keepBestCheckpoint: 'checkpoints.keepBest',
  finish: 'checkpoints.finish',
  gatewayUrl: 'gateway.url',
  tokenSecret: 'gateway.tokenSecret',
  secretFields: 'gateway.secretFields',
  upstreamTimeoutMs: 'gateway.upstreamTimeoutMs',
  firstByteTimeoutMs: 'gateway.firstByteTimeoutMs',
  rolloutTimeoutMs: 'limits.rolloutTimeoutMs',
  maxAttempts: 'limits.maxAttempts',
  outageToleranceMs: 'limits.outageToleranceMs',
  runnerTimeoutMs: 'limits.runnerTimeoutMs',
  maxRestarts: 'limits.maxRestarts',
  maxMissingShare: 'evaluation.maxMissingShare',
  stopAtReward: 'stop.reward',
  stopWhen: 'stop',
  maxLogprobGap: 'stop.maxLogprobGap',
  curriculum: 'collection.curriculum',
  name: 'run.name',
  tags: 'run.tags',
  seed: 'run.seed',
  dataDir: 'run.dataDir',
  prices: 'run.prices',
  diagnosis: null,
};

type Settings = Readonly<Record<string, unknown>>;

/** A configuration with the present keys. */
export interface CurrentKeys {
  readonly settings: Settings;
  /** The former keys that it had. */
  readonly former: readonly string[];
}

/** Replaces former keys. A present key that is there as well wins. */
export function withCurrentKeys(given: Settings): CurrentKeys {
  const former = Object.keys(renamedKeys).filter((path) => valueAt(given, path) !== undefined);
  const settings = former.reduce((changed, path) => moved(changed, path, renamedKeys[path] ?? null), given);
  return { settings, former };
}

/** As {@link withCurrentKeys}; a former key is a problem that names the present one. */
export function requireCurrentKeys(given: Settings, problems: ConfigProblems): Settings {
  const { settings, former } = withCurrentKeys(given);
  if (former.length > 0) {
    problems.check(() => {
      throw renamed(former);
    });
  }
  return settings;
}

function renamed(former: readonly string[]): AgentLightningError {
  const texts = former.map((path) => `"${path}" ${renamedHint(path)}`);
  return new AgentLightningError({
    code: 'CONFIG',
    message: texts.join('; '),
    remedy: 'Rename the keys; `agl config migrate` does it in a configuration file.',
    details: { issues: texts },
  });
}

/** What became of a former key: `is now "agents.processes"`; null for another key. */
export function renamedHint(path: string): string | null {
  if (!Object.hasOwn(renamedKeys, path)) return null;
  const current = renamedKeys[path] ?? null;
  return current === null ? 'has no effect any more' : `is now "${current}"`;
}

function moved(settings: Settings, from: string, to: string | null): Settings {
  const value = valueAt(settings, from);
  const rest = without(settings, from);
  if (to === null) return rest;
  const [group = '', key] = to.split('.');
  const present = rest[group];
  if (key === undefined)
    return { ...rest, [group]: isGroup(present) && isGroup(value) ? { ...value, ...present } : value };
  // A group that is not an object is reported as such.
  if (present !== undefined && !isGroup(present)) return rest;
  return { ...rest, [group]: { [key]: value, ...present } };
}

function without(settings: Settings, path: string): Settings {
  const [name = '', inner] = path.split('.');
  const { [name]: value, ...rest } = settings;
  if (inner === undefined || !isGroup(value)) return rest;
  const { [inner]: _moved, ...group } = value;
  return { ...rest, [name]: group };
}

function valueAt(settings: Settings, path: string): unknown {
  const [name = '', inner] = path.split('.');
  const value = settings[name];
  if (inner === undefined) return value;
  return isGroup(value) ? value[inner] : undefined;
}

/** Whether a value is an object with keys. */
export function isGroup(value: unknown): value is Settings {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
