import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { connectRuntime } from '@agentlightning/runtime';
import { startCpuRuntime } from '@agentlightning/runtime-cpu';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { onlyPolicy } from '../src/config/policies.ts';
import { initialRunState, writeState } from '../src/run/run-state.ts';
import { AglProcess } from './agl-process.ts';
import { RunFolder, smallConfigFile } from './run-folder.ts';

/** Each test starts several processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 300_000 });

let folder: RunFolder;
beforeEach(() => {
  folder = new RunFolder();
});
afterEach(() => {
  folder[Symbol.dispose]();
  vi.unstubAllEnvs();
});

function exportRun(...flags: string[]): AglProcess {
  return new AglProcess(['export', smallConfigFile, '--run', 'exported', '--data-dir', folder.path, ...flags]);
}

/** A runtime with a saved checkpoint of the run `exported`, and the run at this checkpoint in the store. */
async function savedRun(): Promise<{ readonly address: string; readonly close: () => Promise<void> }> {
  const { address, apiKey, close } = await startCpuRuntime({ checkpointDir: path.join(folder.path, 'checkpoints') });
  vi.stubEnv('AGL_RUNTIME_KEY', apiKey);
  const runtime = await connectRuntime({ address, apiKey });
  const baseModel = (await runtime.capabilities()).models[0]?.name ?? '';
  const model = await runtime.createModel({ modelId: 'exported', baseModel, seed: 1 });
  const { uri } = await (await model.saveCheckpoint('step-000001', { runId: 'exported', step: 1 })).result;
  await model.unload();
  await runtime.close();
  const saved = { step: 1, uris: { [onlyPolicy]: uri } };
  const initial = initialRunState({ steps: 1, seed: 1, dataDir: folder.path });
  const state = { ...initial, finishedStep: 1, checkpoint: saved, checkpoints: [saved], finalStep: 1 };
  await folder.withStore(async (store) => {
    await store.createRun({ runId: 'exported', name: 'small', config: {} });
    await store.updateRun('exported', { status: 'finished', state: writeState(state) });
  });
  return { address, close };
}

/** The names and shapes of the tensors in a safetensors file. */
function tensors(file: string): Readonly<Record<string, { readonly shape: readonly number[] }>> {
  const bytes = readFileSync(file);
  const { __metadata__: _, ...header } = JSON.parse(
    bytes.toString('utf8', 8, 8 + Number(bytes.readBigUInt64LE(0))),
  ) as {
    readonly [name: string]: { readonly shape: readonly number[] };
  };
  return header;
}

test('exports the checkpoint that a run in the store ended with', async () => {
  const { address, close } = await savedRun();
  try {
    const out = path.join(folder.path, 'weights');
    await using agl = exportRun('--out', out, '--runtime', address, '--json');
    expect({ code: await agl.exitCode(), stderr: agl.stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(agl.output)).toMatchObject({ run: 'exported', step: 1, format: 'safetensors', folder: out });
    const [weights = ''] = readdirSync(out).filter((name) => name.endsWith('.safetensors'));
    expect(Object.keys(tensors(path.join(out, weights))).length).toBeGreaterThan(4);
  } finally {
    await close();
  }
});

test('exports the latest and an earlier checkpoint, and says what is wrong', { tags: ['long'] }, async () => {
  {
    await using agl = folder.train('--run', 'exported', '--steps', '3');
    await agl.event('finished');
  }
  const latest = path.join(folder.path, 'latest');
  await using first = exportRun('--out', latest, '--json');
  expect(await first.exitCode()).toBe(0);
  expect(JSON.parse(first.output)).toMatchObject({ run: 'exported', step: 3, format: 'safetensors', folder: latest });
  const [weights] = readdirSync(latest).filter((name) => name.endsWith('.safetensors'));
  expect(Object.keys(tensors(path.join(latest, weights ?? ''))).length).toBeGreaterThan(4);

  const earlier = path.join(folder.path, 'earlier');
  await using second = exportRun('--out', earlier, '--checkpoint', '2');
  expect(await second.exitCode()).toBe(0);
  expect(second.output).toMatch(/Wrote step 2 of run exported to .*safetensors.* kB/);
  const changed = readFileSync(path.join(earlier, weights ?? ''));
  expect(changed.equals(readFileSync(path.join(latest, weights ?? '')))).toBe(false);

  await using missing = exportRun('--out', path.join(folder.path, 'missing'), '--checkpoint', '7');
  expect(await missing.exitCode()).toBe(2);
  expect(missing.stderr).toMatch(/no checkpoint "7"[\s\S]*1, 2, 3/);

  const full = path.join(folder.path, 'full');
  mkdirSync(full);
  writeFileSync(path.join(full, 'notes.txt'), 'mine');
  await using refused = exportRun('--out', full);
  expect(await refused.exitCode()).not.toBe(0);
  expect(refused.stderr).toContain('the folder is not empty');

  await using adapter = exportRun('--out', path.join(folder.path, 'adapter'), '--format', 'peft');
  expect(await adapter.exitCode()).not.toBe(0);
  expect(adapter.stderr).toMatch(/cannot export weights in the format peft[\s\S]*--format safetensors/);
});
