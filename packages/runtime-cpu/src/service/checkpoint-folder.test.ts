import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { smallConfig } from '../../test/small-model.ts';
import { isCheckpointFolder } from '../checkpoint/checkpoint-marker.ts';
import { ModelEngine } from '../model-engine.ts';
import { CheckpointFolder } from './checkpoint-folder.ts';

test('an invalid file name is rejected, and the longest valid one can be saved', async () => {
  const root = await mkdtemp(path.join(tmpdir(), 'checkpoints-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const folder = new CheckpointFolder(root, 'model');
  const engine = ModelEngine.random(smallConfig, 1);
  await expect(folder.fileOf('x'.repeat(201))).rejects.toMatchObject({ code: 'RUNTIME_REJECTED' });
  await engine.saveCheckpoint(await folder.fileOf('x'.repeat(200)), new Uint8Array());
  expect(await readdir(path.join(root, 'model'))).toContain(`${'x'.repeat(200)}.safetensors`);
  expect(await folder.list()).toHaveLength(1);
});

test("a new folder is marked as its model's, and one that holds files already is not", async () => {
  const root = await mkdtemp(path.join(tmpdir(), 'checkpoints-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  await mkdir(path.join(root, 'photos'));
  await writeFile(path.join(root, 'photos', 'cat.jpg'), 'cat');
  await new CheckpointFolder(root, 'photos').fileOf('step-1');
  await new CheckpointFolder(root, 'model').fileOf('step-1');
  expect(await isCheckpointFolder(path.join(root, 'photos'))).toBe(false);
  expect(await isCheckpointFolder(path.join(root, 'model'))).toBe(true);
});
