import { readFile } from 'node:fs/promises';

interface Entry {
  readonly dtype: string;
  readonly data_offsets: readonly [number, number];
}

/** The float32 tensors of a safetensors file by name. */
export async function readTensors(file: string): Promise<ReadonlyMap<string, Float32Array>> {
  const bytes = await readFile(file);
  const data = 8 + Number(bytes.readBigUInt64LE(0));
  const header: Record<string, Entry> = JSON.parse(bytes.subarray(8, data).toString('utf8'));
  const tensors = new Map<string, Float32Array>();
  for (const [name, { dtype, data_offsets: offsets }] of Object.entries(header)) {
    if (dtype !== 'F32') continue;
    const [from, to] = [data + offsets[0], data + offsets[1]];
    // Copied: the offset in the file may not be a multiple of four.
    tensors.set(name, new Float32Array(Uint8Array.from(bytes.subarray(from, to)).buffer));
  }
  return tensors;
}
