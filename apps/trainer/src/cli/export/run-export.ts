import { mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { AgentLightningError, type Store } from '@agentlightning/core';
import type { RuntimeCapabilities } from '@agentlightning/core/training-runtime';
import { loadConfig } from '../../config/load-config.ts';
import { policyKey, type ResolvedPolicy } from '../../config/policies.ts';
import { needsValueHead } from '../../config/policy-learner.ts';
import type { ResolvedConfig } from '../../config/resolve-config.ts';
import { isPromptSearch } from '../../config/resolve-run.ts';
import { loraOf } from '../../config/sections/runtime-config.ts';
import { chooseCheckpoint } from '../../run/choose-checkpoint.ts';
import { acquireRunLease } from '../../run/run-lease.ts';
import { readRunState } from '../../run/run-state.ts';
import { openRuntime } from '../../runtime/open-runtime.ts';
import { openStoreByUrl } from '../../runtime/open-store-by-url.ts';
import { openModel } from '../../session/open-models.ts';
import { type ConnectionFlags, connectionOverrides } from '../connection-overrides.ts';
import { writeOutcome } from '../error-text.ts';
import { formatBytes } from '../format-bytes.ts';

/** The flags of `agl export`. */
export interface ExportFlags extends ConnectionFlags {
  readonly run: string;
  readonly out: string;
  readonly checkpoint: string;
  readonly format?: ExportFormat;
  readonly policy?: string;
  readonly json?: boolean;
}

type ExportFormat = 'safetensors' | 'peft';

/**
 * Exports a checkpoint through the runtime that trained it.
 *
 * @throws AgentLightningError CONFIG for a wrong flag, NOT_FOUND without the run or the checkpoint, CONFLICT while the run is
 *   being trained or when the folder is not empty, RUNTIME_REJECTED when the runtime cannot export this format
 */
export async function runExport(file: string, flags: ExportFlags): Promise<void> {
  const config = await loadConfig(file, connectionOverrides(flags));
  if (isPromptSearch(config)) throw nothingTrained();
  const directory = path.resolve(flags.out);
  await assertEmpty(directory);
  const store = await openStoreByUrl({ url: config.storeUrl, apiKey: config.storeApiKey });
  try {
    await exportFrom(store, { config, flags, directory });
  } finally {
    await store.close();
  }
}

async function exportFrom(
  store: Store,
  {
    config,
    flags,
    directory,
  }: { readonly config: ResolvedConfig; readonly flags: ExportFlags; readonly directory: string },
): Promise<void> {
  const run = await store.getRun(flags.run);
  const state = readRunState(run, config.dataDir);
  const { policy, index } = choosePolicy(config, flags.policy);
  const checkpoint = chooseCheckpoint(state, flags.checkpoint);
  const format = flags.format ?? (loraOf(config.runtime) !== undefined ? 'peft' : 'safetensors');
  // A trainer has its own session with the model.
  const lease = await acquireRunLease(store, run.runId);
  try {
    const connection = await openRuntime(config.runtime, {
      dataDir: state.dataDir,
      timeoutMs: config.limits.outageToleranceMs,
      onWait: (message) => process.stderr.write(`${message}\n`),
    });
    try {
      const capabilities = await connection.runtime.capabilities();
      assertExports(capabilities, format);
      const source = { runtime: connection.runtime, config, run, state: { ...state, checkpoint }, capabilities };
      const { model } = await openModel(source, { policy, index, hasValueHead: needsValueHead(policy) });
      const artifact = await (await model.exportCheckpoint({ format })).result;
      await model.downloadArtifact(artifact, directory);
      await model.unload();
      const files = artifact.files.map(({ path: name, sizeBytes }) => ({ path: name, size_bytes: sizeBytes }));
      const total = formatBytes(files.reduce((sum, { size_bytes }) => sum + size_bytes, 0));
      writeOutcome(flags, {
        record: { run: run.runId, step: checkpoint.step, format, folder: directory, files },
        text: `Wrote step ${checkpoint.step} of run ${run.runId} to ${directory}: ${files.map((each) => each.path).join(', ')} (${total}).`,
      });
    } finally {
      await connection.close();
    }
  } finally {
    await lease.release();
  }
}

function choosePolicy(
  { policies }: ResolvedConfig,
  name: string | undefined,
): { readonly policy: ResolvedPolicy; readonly index: number } {
  const trained = policies
    .map((policy, index) => ({ policy, index }))
    .filter(({ policy }) => policy.algorithm !== null);
  const chosen = name === undefined ? trained : trained.filter(({ policy }) => policy.name === name);
  const [first, ...others] = chosen;
  if (first !== undefined && others.length === 0) return first;
  const names = trained.map(({ policy }) => policyKey(policy)).join(', ');
  throw new AgentLightningError({
    code: 'CONFIG',
    message: name === undefined ? 'the run trains several policies' : `the run trains no policy "${name}"`,
    remedy: `Pass \`--policy\` with one of: ${names}.`,
  });
}

function assertExports({ features = [] }: RuntimeCapabilities, format: ExportFormat): void {
  if (features.includes(format === 'peft' ? 'export_peft' : 'export')) return;
  throw new AgentLightningError({
    code: 'RUNTIME_REJECTED',
    message: `the training runtime cannot export weights in the format ${format}`,
    remedy: features.includes('export') ? 'Pass `--format safetensors`.' : 'Use a runtime with the feature `export`.',
  });
}

async function assertEmpty(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  if ((await readdir(directory)).length === 0) return;
  throw new AgentLightningError({
    code: 'CONFLICT',
    message: `the folder is not empty: ${directory}`,
    remedy: 'Pass a new or empty folder as `--out`.',
  });
}

function nothingTrained(): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: 'a prompt search does not train weights',
    remedy: 'Print its best prompts with `agl prompts <run> --text`.',
  });
}
