import * as z from 'zod';
import type { JsonObject } from '../../base/json.ts';
import type { Run } from '../../store/run.ts';
import type { LoraConfig } from '../../training-runtime/training-runtime.ts';
import { readRunProgress } from './run-progress.ts';

/** Where a model is served from. */
export type ModelSource =
  | { readonly type: 'embedded' }
  | { readonly type: 'grpc'; readonly address: string; readonly lora: LoraConfig | null }
  | {
      readonly type: 'endpoint';
      /** Up to and with `/v1`. */
      readonly baseUrl: string;
      readonly model: string;
      /** The environment variable with its key; null for none. */
      readonly keyVariable: string | null;
    };

/** A version of a model or of prompts, with its origin. */
export interface ModelVersion {
  /** Such as `run-1a2b@30`, or the name of a model that no run has made. */
  readonly version: string;
  /** Weights of a checkpoint, a model that a vendor trained, prompts, or a model of an endpoint that no run has made. */
  readonly kind: 'weights' | 'vendor' | 'prompts' | 'endpoint';
  /** The run that made it; null for none. */
  readonly run: string | null;
  /** The step of its checkpoint; null for a vendor's model and prompts. */
  readonly step: number | null;
  /** The base model; null when the runtime chose it. */
  readonly baseModel: string | null;
  /** The training data: the text that identifies it in the run. */
  readonly data: string | null;
  /** SHA-256 of the configuration of the run; null without one. */
  readonly configSha256: string | null;
  /** Where it is served from; null for prompts. */
  readonly source: ModelSource | null;
  /** The checkpoints by policy, or the name of a vendor's model; null for prompts. */
  readonly location: Readonly<Record<string, string>> | string | null;
  /** Digest of the published weights or of the prompts; null when the runtime reports none. */
  readonly digest: string | null;
  /** The prompts by name, of a search; null for a model. */
  readonly prompts: JsonObject | null;
  /** The held-out reward after the run; null without an evaluation. */
  readonly reward: number | null;
}

/** A change of a deployment. */
export interface DeploymentChange {
  readonly timeMs: number;
  /** `canary`: a candidate gets a share of the traffic, or another share. */
  readonly action: 'promote' | 'rollback' | 'canary';
  /** The version that is live since then; the candidate, for a canary. */
  readonly version: string;
  /** What it replaces; the live version, for a canary. Null for the first version. */
  readonly previous: string | null;
  /** The share of the candidate, in (0, 1]; null without one. */
  readonly share: number | null;
  /** Who did it: a user of the machine, or `agl serve` for automatic changes. */
  readonly by: string;
  /** Empty without a reason. */
  readonly reason: string;
}

/** A version that is tried on a part of the traffic. */
export interface DeploymentCandidate {
  readonly version: string;
  /** Share of the users, in (0, 1]. */
  readonly share: number;
  /** Random key of the hash that decides who is in the share, and the name of the trial in traces. */
  readonly key: string;
  /** Start of the comparison, in Unix milliseconds. */
  readonly sinceMs: number;
  /** Whether it becomes live when it is shown to be better. */
  readonly isPromotedWhenBetter: boolean;
  /** It is rolled back when its traces are shown to cost more than this multiple of those of the live version. */
  readonly maxCostRatio: number;
  /** Whether a person has accepted that it is worse on held-out tasks, or that this is not known. */
  readonly isFallAccepted: boolean;
}

/** What a deployment serves, in the state of its run. */
export interface DeploymentState {
  /** The live version; null before the first promotion. */
  readonly live: string | null;
  /** Null when all traffic has the live version. */
  readonly candidate: DeploymentCandidate | null;
  /** All versions that were live or candidates, in the order in which they were deployed. */
  readonly versions: readonly ModelVersion[];
  /** Oldest first. */
  readonly history: readonly DeploymentChange[];
}

const lora: z.ZodType<LoraConfig> = z.object({
  rank: z.int(),
  alpha: z.number().optional(),
  targetModules: z.array(z.string()).optional(),
}) as z.ZodType<LoraConfig>;

const source: z.ZodType<ModelSource> = z.discriminatedUnion('type', [
  z.object({ type: z.literal('embedded') }),
  z.object({ type: z.literal('grpc'), address: z.string(), lora: lora.nullable() }),
  z.object({
    type: z.literal('endpoint'),
    baseUrl: z.string(),
    model: z.string(),
    keyVariable: z.string().nullable(),
  }),
]);

const modelVersion: z.ZodType<ModelVersion> = z.object({
  version: z.string(),
  kind: z.enum(['weights', 'vendor', 'prompts', 'endpoint']),
  run: z.string().nullable(),
  step: z.int().nullable(),
  baseModel: z.string().nullable(),
  data: z.string().nullable(),
  configSha256: z.string().nullable(),
  // Absent in earlier records.
  source: source.nullable().default(null),
  location: z.union([z.record(z.string(), z.string()), z.string(), z.null()]),
  digest: z.string().nullable(),
  prompts: z.record(z.string(), z.json()).nullable(),
  reward: z.number().nullable(),
});

const change: z.ZodType<DeploymentChange> = z.object({
  timeMs: z.number(),
  action: z.enum(['promote', 'rollback', 'canary']),
  version: z.string(),
  previous: z.string().nullable(),
  share: z.number().nullable().default(null),
  by: z.string(),
  reason: z.string(),
});

const candidate: z.ZodType<DeploymentCandidate> = z.object({
  version: z.string(),
  share: z.number(),
  key: z.string(),
  sinceMs: z.number(),
  isPromotedWhenBetter: z.boolean(),
  maxCostRatio: z.number(),
  // Absent in earlier records.
  isFallAccepted: z.boolean().default(false),
});

// A deployment that only collects traces has none of these.
const deploymentState: z.ZodType<DeploymentState> = z.object({
  live: z.string().nullable().default(null),
  candidate: candidate.nullable().default(null),
  versions: z.array(modelVersion).default([]),
  history: z.array(change).default([]),
});

/** Reads what a deployment serves; null for a run of another kind. */
export function readDeployment(run: Run): DeploymentState | null {
  return readRunProgress(run).kind === 'deployment' ? deploymentState.parse(run.state) : null;
}

/** A version that a deployment serves, or restores by a rollback. */
export interface NeededVersion {
  readonly role: 'live' | 'candidate' | 'previous';
  readonly version: ModelVersion;
}

/** The live version, the candidate and the previous version, where there are any: their runs and checkpoints must not be deleted. */
export function neededVersions(state: DeploymentState): readonly NeededVersion[] {
  const { live, candidate, versions } = state;
  const named = { live, candidate: candidate?.version, previous: previousVersion(state)?.version };
  return (['live', 'candidate', 'previous'] as const).flatMap((role) => {
    const version = versions.find((each) => each.version === named[role]);
    return version === undefined ? [] : [{ role, version }];
  });
}

/** The version that a rollback without a candidate makes live; null without one. */
export function previousVersion({ live, versions, history }: DeploymentState): ModelVersion | null {
  const earlier = history.findLast(({ version, action }) => version === live && action === 'promote')?.previous;
  return versions.find(({ version }) => version === earlier) ?? null;
}
