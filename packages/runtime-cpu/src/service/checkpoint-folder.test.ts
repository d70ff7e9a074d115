import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { smallConfig } from '../../test/small-model.ts';
import { ModelEngine } from '../model-engine.ts';
import { CheckpointFolder } from './checkpoint-folder.ts';

test('a name is refused when no file could have it, and the longest one allowed can be saved', async () => {
  const root = await mkdtemp(path.join(tmpdir(), 'checkpoints-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const folder = new CheckpointFolder(root, 'model');
  const engine = ModelEngine.random(smallConfig, 1);
  await expect(folder.fileOf('x'.repeat(201))).rejects.toMatchObject({ code: 'RUNTIME_REJECTED' });
  await engine.saveCheckpoint(await folder.fileOf('x'.repeat(200)), new Uint8Array());
  expect(await readdir(path.join(root, 'model'))).toEqual([`${'x'.repeat(200)}.safetensors`]);
  expect(await folder.list()).toHaveLength(1);
});
