import { readFile } from 'node:fs/promises';

/** Reads the float32 tensors of a safetensors file, by name. */
export async function readTensors(file: string): Promise<ReadonlyMap<string, Float32Array>> {
  const bytes = await readFile(file);
  const headerLength = Number(bytes.readBigUInt64LE(0));
  const header: Record<string, { dtype?: string; data_offsets?: [number, number] }> = JSON.parse(
    bytes.toString('utf8', 8, 8 + headerLength),
  );
  const tensors = new Map<string, Float32Array>();
  for (const [name, { dtype, data_offsets: place }] of Object.entries(header)) {
    if (dtype !== 'F32' || place === undefined) continue;
    const start = 8 + headerLength + place[0];
    // A copy: views of numbers must begin at a multiple of four.
    const data = Uint8Array.from(bytes.subarray(start, 8 + headerLength + place[1]));
    tensors.set(name, new Float32Array(data.buffer));
  }
  return tensors;
}
