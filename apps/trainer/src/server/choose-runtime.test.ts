import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { gpusOf } from '../runtime/gpu-runtime.ts';
import { chooseRuntime } from './choose-runtime.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'agl-runtime-'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** A program that prints a text, as on a machine with other hardware and packages than this one. */
function program(name: string, command: string): string {
  const file = path.join(folder, name);
  writeFileSync(file, `#!/bin/sh\n${command}\n`);
  chmodSync(file, 0o755);
  return file;
}

const unset = { runtime: null, runtimePython: null, runtimeArguments: null, model: null, gpus: null };
const twoGpus = `echo '{"gpus": ["NVIDIA H100", "NVIDIA H100"]}'`;

test('the embedded runtime is the default, and a running one precedes all others', async () => {
  expect(await chooseRuntime(unset)).toEqual({ type: 'embedded' });
  expect(await chooseRuntime({ ...unset, model: 'tiny-random', gpus: 0 })).toEqual({ type: 'embedded' });
  const running = { ...unset, runtime: 'box:50051', runtimePython: '/nowhere', gpus: 4 };
  expect(await chooseRuntime(running)).toEqual({ type: 'running', address: 'box:50051' });
});

test('a URL is a Tinker server, which needs a model', async () => {
  const runtime = 'https://tinker.example';
  const chosen = await chooseRuntime({ ...unset, runtime, model: 'a/model', runtimeArguments: '--tokenizer "/a b"' });
  expect(chosen).toEqual({ type: 'tinker', baseUrl: runtime, model: 'a/model', arguments: ['--tokenizer', '/a b'] });
  await expect(chooseRuntime({ ...unset, runtime })).rejects.toThrow('tinker.example needs a model');
});

test('the GPU runtime is started for its interpreter, for GPUs and for its models, on all GPUs by default', async () => {
  program('python3', twoGpus);
  const python = program('python-of-env', twoGpus);
  vi.stubEnv('PATH', `${folder}:${process.env['PATH']}`);
  const model = 'Qwen/Qwen3-4B';
  const chosen = { type: 'gpu', python: 'python3', model, gpus: 2, arguments: [] };
  expect(await chooseRuntime({ ...unset, model })).toEqual(chosen);
  expect(await chooseRuntime({ ...unset, model, gpus: 1 })).toMatchObject({ type: 'gpu', gpus: 1 });
  expect(await chooseRuntime({ ...unset, model, runtimePython: python, gpus: 0 })).toMatchObject({ python, gpus: 0 });
  await expect(chooseRuntime({ ...unset, gpus: 1 })).rejects.toThrow('needs a model, and none is set');
});

test('arguments of the GPU runtime start it, and are an error for one that is running', async () => {
  program('python3', twoGpus);
  vi.stubEnv('PATH', `${folder}:${process.env['PATH']}`);
  const settings = { ...unset, model: 'tiny-chat', runtimeArguments: '--load-in-4bit --optimizer adamw-8bit' };
  const args = ['--load-in-4bit', '--optimizer', 'adamw-8bit'];
  expect(await chooseRuntime(settings)).toMatchObject({ type: 'gpu', model: 'tiny-chat', arguments: args });
  await expect(chooseRuntime({ ...settings, runtime: 'box:50051' })).rejects.toThrow('no effect on the runtime at box');
});

test('fewer GPUs than requested are an error with their number', async () => {
  const python = program('python', twoGpus);
  const choosing = chooseRuntime({ ...unset, model: 'a/model', runtimePython: python, gpus: 4 });
  await expect(choosing).rejects.toMatchObject({ code: 'CONFIG' });
  await expect(choosing).rejects.toThrow(`4 GPUs were requested, and ${python} finds 2: NVIDIA H100, NVIDIA H100`);
  const none = program('without', `echo '{"gpus": []}'`);
  await expect(chooseRuntime({ ...unset, model: 'a/model', runtimePython: none, gpus: 1 })).rejects.toThrow('finds 0');
});

test('without the GPU runtime, the number of GPUs, the missing package and the models are reported', async () => {
  program('python3', 'echo "No module named agentlightning_runtime" >&2; exit 1');
  vi.stubEnv('PATH', folder);
  await expect(chooseRuntime({ ...unset, gpus: 4 })).rejects.toThrow('4 GPUs were requested, and this machine has 0');
  program('nvidia-smi', 'echo "GPU 0: NVIDIA H100 (UUID: GPU-1)"');
  await expect(chooseRuntime({ ...unset, gpus: 4 })).rejects.toThrow('4 GPUs were requested, and this machine has 1');
  await expect(chooseRuntime({ ...unset, gpus: 1 })).rejects.toThrow(
    'no GPU runtime is installed for python3: No module named agentlightning_runtime',
  );
  const choosing = chooseRuntime({ ...unset, model: 'tiny-chta' });
  await expect(choosing).rejects.toThrow('the embedded runtime has no model "tiny-chta"; did you mean "tiny-chat"?');
  await expect(choosing).rejects.toMatchObject({ remedy: expect.stringContaining('--runtime-python') });
  const missing = chooseRuntime({ ...unset, model: 'tiny-chat', runtimePython: path.join(folder, 'none') });
  await expect(missing).rejects.toThrow('none');
});

test('an interpreter that does not list its GPUs in time is not reported as one without the runtime', async () => {
  const python = program('slow', 'exec sleep 60');
  await expect(gpusOf(python, 50)).rejects.toMatchObject({
    code: 'TIMEOUT',
    message: expect.stringContaining('slow has not listed its GPUs within 0.05 s'),
  });
});
