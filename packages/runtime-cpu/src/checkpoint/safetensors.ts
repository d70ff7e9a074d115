import { CheckpointFormatError } from '../runtime-errors.ts';

/** A tensor of a safetensors file: float32 numbers or raw bytes. */
export type StoredTensor =
  | { readonly dtype: 'F32'; readonly shape: readonly number[]; readonly values: Float32Array }
  | { readonly dtype: 'U8'; readonly shape: readonly number[]; readonly values: Uint8Array };

/** The content of a safetensors file. */
export interface TensorFile {
  /** Arbitrary text by name. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly tensors: ReadonlyMap<string, StoredTensor>;
}

interface HeaderEntry {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

/** Writes the safetensors format: header length (u64), JSON header, tensor data; little-endian throughout. */
export function encodeTensorFile(file: TensorFile): Uint8Array {
  const header: Record<string, unknown> = { __metadata__: file.metadata };
  let offset = 0;
  for (const [name, { dtype, shape, values }] of file.tensors) {
    header[name] = { dtype, shape, data_offsets: [offset, offset + values.byteLength] };
    offset += values.byteLength;
  }
  const json = JSON.stringify(header);
  const encoded = new TextEncoder().encode(json);
  const headerLength = Math.ceil(encoded.length / 8) * 8;
  const bytes = new Uint8Array(8 + headerLength + offset);
  bytes.fill(0x20, 8, 8 + headerLength);
  bytes.set(encoded, 8);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(headerLength), true);
  let at = 8 + headerLength;
  for (const tensor of file.tensors.values()) {
    if (tensor.dtype === 'U8') bytes.set(tensor.values, at);
    else for (const [i, value] of tensor.values.entries()) view.setFloat32(at + 4 * i, value, true);
    at += tensor.values.byteLength;
  }
  return bytes;
}

/** Reads the safetensors format; `path` is used in the error for a damaged file. */
export function decodeTensorFile(bytes: Uint8Array, path: string): TensorFile {
  const damaged = (reason: string, cause?: unknown): never => {
    throw new CheckpointFormatError(path, reason, cause);
  };
  if (bytes.length < 8) return damaged(`it has ${bytes.length} bytes`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headerLength = Number(view.getBigUint64(0, true));
  if (headerLength > bytes.length - 8) return damaged('its header is longer than the file');
  const header = parseHeader(bytes.subarray(8, 8 + headerLength), damaged);
  const data = 8 + headerLength;
  const tensors = new Map<string, StoredTensor>();
  for (const [name, entry] of Object.entries(header.entries)) {
    const [start, end] = entry.data_offsets;
    if (!(start >= 0 && start <= end && data + end <= bytes.length)) damaged(`the tensor ${name} is cut off`);
    tensors.set(name, readTensor(entry, { view, from: data + start, to: data + end }, damaged));
  }
  return { metadata: header.metadata, tensors };
}

type Damaged = (reason: string, cause?: unknown) => never;

function parseHeader(
  bytes: Uint8Array,
  damaged: Damaged,
): { readonly metadata: Record<string, string>; readonly entries: Record<string, HeaderEntry> } {
  try {
    // Fields are validated where they are used; a wrong type ends in a range or dtype error there.
    const { __metadata__: metadata = {}, ...entries } = JSON.parse(new TextDecoder().decode(bytes)) as Record<
      string,
      HeaderEntry
    > & { __metadata__?: Record<string, string> };
    return { metadata, entries };
  } catch (cause) {
    return damaged('its header is not JSON', cause);
  }
}

function readTensor(
  { dtype, shape }: HeaderEntry,
  place: { readonly view: DataView; readonly from: number; readonly to: number },
  damaged: Damaged,
): StoredTensor {
  const { view, from, to } = place;
  if (dtype === 'U8') {
    return { dtype, shape, values: new Uint8Array(view.buffer, view.byteOffset + from, to - from).slice() };
  }
  if (dtype !== 'F32') return damaged(`it holds numbers of type ${dtype}; only F32 and U8 are known`);
  const values = new Float32Array((to - from) / 4);
  for (let i = 0; i < values.length; i++) values[i] = view.getFloat32(from + 4 * i, true);
  return { dtype, shape, values };
}
