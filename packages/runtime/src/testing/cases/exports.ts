import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RuntimeModel } from '../../client/runtime-model.ts';
import { batchOfFour } from '../a-batch.ts';
import { type Bench, trainOnce } from '../bench.ts';
import { refusalOf } from '../raw-client.ts';

/** Exports of weights for other programs. */
export function describeExports(bench: Bench): void {
  describe('exports', () => {
    it('exports the weights as safetensors, or rejects the field', async () => {
      const model = await bench.model();
      await trainOnce(model, batchOfFour);
      const hasExports = await bench.has('export');
      const exporting = model.exportCheckpoint({ format: 'safetensors' });
      if (!hasExports) {
        await expect(exporting).rejects.toMatchObject({ code: 'RUNTIME_REJECTED', field: 'format' });
        return;
      }
      const artifact = await (await exporting).result;
      expect(artifact.step).toBe(1);
      const files = await model.downloadArtifact(artifact, await bench.directory());
      const tensorFiles = files.filter((file) => file.endsWith('.safetensors'));
      expect(tensorFiles.length).toBeGreaterThan(0);
      for (const file of tensorFiles) expect((await tensorNames(file)).length).toBeGreaterThan(0);
    });

    it('exports the weights of a checkpoint, regardless of later steps', async ({ skip }) => {
      skip(!(await bench.has('export')), 'the runtime has no exports');
      const model = await bench.model();
      await trainOnce(model, batchOfFour);
      const { uri } = await (await model.saveCheckpoint('exported', {})).result;
      const then = await weightsOf(bench, model);
      await trainOnce(model, batchOfFour);
      expect(await weightsOf(bench, model)).not.toEqual(then);
      expect(await weightsOf(bench, model, uri)).toEqual(then);
      const missing = await model.exportCheckpoint({ format: 'safetensors', uri: 'none' });
      await expect(missing.result).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });

    it('streams a file from an offset, and only exported files', async ({ skip }) => {
      skip(!(await bench.has('export')), 'the runtime has no exports');
      const model = await bench.model();
      const { artifactId, files } = await (await model.exportCheckpoint({ format: 'safetensors' })).result;
      const { training } = bench.raw();
      const { modelId } = model;
      const { path = '', sizeBytes = 0 } = files.find((file) => file.path.endsWith('.safetensors')) ?? {};
      const read = async (offset: bigint): Promise<Buffer> => {
        const pieces: Uint8Array[] = [];
        const request = { modelId, artifactId, path, offset };
        for await (const { data } of training.downloadArtifact(request)) pieces.push(data);
        return Buffer.concat(pieces);
      };
      const whole = await read(0n);
      expect(whole.byteLength).toBe(sizeBytes);
      expect((await read(100n)).equals(whole.subarray(100))).toBe(true);
      for (const wrong of [{ artifactId: 'none' }, { path: '../../etc/passwd' }, { path: '/etc/passwd' }]) {
        const stream = training.downloadArtifact({ modelId, artifactId, path, ...wrong });
        const reading = (async () => {
          for await (const _ of stream);
        })();
        expect(await refusalOf(reading)).toMatchObject({ code: 'NOT_FOUND' });
      }
    });

    it('exports a LoRA in the format of PEFT, or rejects the field', async () => {
      const canDo = (await bench.has('export_peft')) && (await bench.has('lora'));
      const model = await bench.model(canDo ? { lora: bench.settings.lora } : {});
      const exporting = model.exportCheckpoint({ format: 'peft' });
      if (!canDo) {
        await expect(exporting).rejects.toMatchObject({ code: 'RUNTIME_REJECTED', field: 'format' });
        return;
      }
      const files = await model.downloadArtifact(await (await exporting).result, await bench.directory());
      const [config = '', weights = ''] = ['adapter_config.json', 'adapter_model.safetensors'].map((name) =>
        files.find((file) => file.endsWith(name)),
      );
      expect(JSON.parse(await readFile(config, 'utf8'))).toMatchObject({ r: bench.settings.lora.rank });
      for (const name of await tensorNames(weights)) expect(name).toMatch(/lora_[AB]/);
    });
  });
}

async function weightsOf(bench: Bench, model: RuntimeModel, uri?: string): Promise<readonly Buffer[]> {
  const { result } = await model.exportCheckpoint({ format: 'safetensors', ...(uri === undefined ? {} : { uri }) });
  const artifact = await result;
  const directory = await bench.directory();
  await model.downloadArtifact(artifact, directory);
  const names = artifact.files.map(({ path }) => path).filter((path) => path.endsWith('.safetensors'));
  return Promise.all(names.map((name) => readFile(join(directory, name))));
}

/** Tensor names in a safetensors file: the header's length, then the header as JSON. */
async function tensorNames(file: string): Promise<readonly string[]> {
  const bytes = await readFile(file);
  const length = Number(bytes.readBigUInt64LE(0));
  const header: Record<string, unknown> = JSON.parse(bytes.subarray(8, 8 + length).toString('utf8'));
  return Object.keys(header).filter((name) => name !== '__metadata__');
}
