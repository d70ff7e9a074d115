import { isDeepStrictEqual } from 'node:util';
import { AgentLightningError, type JsonValue, type Run, type Store } from '@agentlightning/core';
import { z } from 'zod';
import { onlyPolicy, policyKey } from '../config/policies.ts';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { loraOf } from '../config/sections/runtime-config.ts';
import { chooseCheckpoint } from './choose-checkpoint.ts';
import { findReferencedRun } from './referenced-run.ts';
import { readRunState, type WarmStart } from './run-state.ts';

/** The stored settings of a run that determine its models. */
export interface SourceSettings {
  readonly runtime: { readonly type: string; readonly model?: string | null; readonly lora?: JsonValue };
  readonly policies: readonly {
    readonly name: string | null;
    readonly baseModel?: string | null;
    readonly algorithm?: JsonValue;
  }[];
}

const sourceSchema: z.ZodType<SourceSettings> = z.object({
  runtime: z.object({ type: z.string(), model: z.string().nullable().exactOptional(), lora: z.json().exactOptional() }),
  policies: z
    .array(
      z.object({
        name: z.string().nullable(),
        baseModel: z.string().nullable().exactOptional(),
        algorithm: z.json().exactOptional(),
      }),
    )
    .default([]),
});

/**
 * Finds the checkpoint that a new run begins with, for each of its trained policies.
 *
 * @param reference - such as `run-1a2b@best` or `support-agent@live`
 * @throws AgentLightningError NOT_FOUND without the run or the checkpoint, CONFIG when the run is a prompt search, or has another
 *   base model, LoRA or other policies
 */
export async function findWarmStart(store: Store, reference: string, config: ResolvedConfig): Promise<WarmStart> {
  const { run, choice } = await findReferencedRun(store, reference);
  const { runId } = run;
  const { step, uris } = chooseCheckpoint(readRunState(run, config.dataDir), choice);
  const source = readSourceSettings(run);
  const lora = loraOf(config.runtime);
  assertSame(runId, { what: 'LoRA', theirs: source.runtime.lora ?? null, ours: lora ?? null });
  const trained = config.policies.filter(({ algorithm }) => algorithm !== null);
  const entries = trained.map((policy): [policy: string, uri: string] => {
    const key = policyKey(policy);
    const uri = uris[key];
    if (uri === undefined) throw missingPolicy(runId, { name: policy.name, known: Object.keys(uris) });
    const theirs = baseModelOf(source, policy.name);
    const ours = policy.baseModel ?? config.runtime.model ?? defaultModel(config.runtime.type);
    if (theirs !== null && ours !== null) assertSame(runId, { what: 'base model', theirs, ours });
    return [key, uri];
  });
  return { runId, step, uris: Object.fromEntries(entries) };
}

/** Reads the settings of a run that another one begins with, or learns from. */
export function readSourceSettings({ config }: Run): SourceSettings {
  return sourceSchema.safeParse(config).data ?? { runtime: { type: 'unknown' }, policies: [] };
}

/** The base model of a policy of a run; null when its runtime decides. */
export function baseModelOf({ policies, runtime }: SourceSettings, name: string | null): string | null {
  return policies.find((policy) => policy.name === name)?.baseModel ?? runtime.model ?? defaultModel(runtime.type);
}

/** The model of a configuration that names none; null when the runtime decides. */
function defaultModel(runtime: string): string | null {
  return runtime === 'embedded' ? 'tiny-chat' : null;
}

function assertSame(
  runId: string,
  { what, theirs, ours }: { readonly what: string; readonly theirs: unknown; readonly ours: unknown },
): void {
  // As the store keeps it: without fields that are undefined.
  if (isDeepStrictEqual(theirs, JSON.parse(JSON.stringify(ours)))) return;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `the run cannot begin with weights of run ${runId}: its ${what} is ${JSON.stringify(theirs)}, not ${JSON.stringify(ours)}`,
    remedy: `Configure the same ${what} as run ${runId}, or remove \`from\` (\`--from\`).`,
  });
}

function missingPolicy(
  runId: string,
  { name, known }: { readonly name: string | null; readonly known: readonly string[] },
): AgentLightningError {
  const wanted = name === null ? 'a single policy' : `policy "${name}"`;
  const has = known.includes(onlyPolicy) ? 'a single policy' : known.join(', ');
  return new AgentLightningError({
    code: 'CONFIG',
    message: `the run cannot begin with weights of run ${runId}: it has no checkpoint of ${wanted}, but of ${has}`,
    remedy: 'Use the same names in `policies`.',
  });
}
