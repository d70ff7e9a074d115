import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EngineArtifact } from '../../src/index.ts';
import type { BagState } from './bag-state.ts';

/** Writes the weights as a safetensors file: the header's length, the header as JSON, the numbers. */
export async function exportBag({ parameters, step }: BagState): Promise<EngineArtifact> {
  const folder = await mkdtemp(join(tmpdir(), 'bag-export-'));
  const file = join(folder, 'model.safetensors');
  const tensor = { dtype: 'F32', shape: [parameters.length], data_offsets: [0, parameters.byteLength] };
  const header = Buffer.from(JSON.stringify({ bag: tensor }));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.byteLength));
  const numbers = Buffer.from(parameters.buffer, parameters.byteOffset, parameters.byteLength);
  await writeFile(file, Buffer.concat([length, header, numbers]));
  return {
    files: [{ path: 'model.safetensors', file }],
    step,
    discard: () => rm(folder, { recursive: true, force: true }),
  };
}
