import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import type { BatchOutputKind } from '../gen/agentlightning/runtime/v1/training_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import { unpackFloat32 } from '../wire/packed-array.ts';
import { type RuntimeLink, untimed } from './runtime-link.ts';

/** The output of a forward pass, one array for each datum. */
export async function fetchOutput(
  link: RuntimeLink,
  place: { readonly modelId: string; readonly seq: number; readonly kind: BatchOutputKind },
  counts: readonly number[],
): Promise<readonly Float32Array[]> {
  const received = await link.policy.run(async () => {
    const chunks: Uint8Array[] = [];
    for await (const { data } of link.training.fetchBatchOutput(place, untimed)) chunks.push(data);
    return chunks;
  });
  const all = unpackFloat32(Buffer.concat(received));
  const expected = counts.reduce((sum, count) => sum + count, 0);
  if (all.length !== expected) {
    throw new RuntimeError({
      reason: ErrorReason.INTERNAL,
      message: `The runtime returned ${all.length} numbers for ${expected} trained tokens`,
    });
  }
  let at = 0;
  return counts.map((count) => {
    at += count;
    return all.slice(at - count, at);
  });
}
