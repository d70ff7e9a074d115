import { parentPort } from 'node:worker_threads';
import { ValidationError } from '@agentlightning/core';
import { decodeSpanBatch } from './decode-span-batch.ts';
import { letGo } from './let-go.ts';
import { packSpanRows } from './packed-span-rows.ts';
import type { SpanDecoderAnswer, SpanDecoderRequest } from './span-decoder.ts';

/** A thread that reads batches of spans for {@link SpanDecoder}. */
parentPort?.on('message', (request: SpanDecoderRequest) => {
  const answer = answerTo(request);
  for (const piece of request.batch.pieces) letGo(piece);
  // Given away, which costs less than a copy.
  parentPort?.postMessage(answer, 'packed' in answer ? [answer.packed.numbers.buffer] : []);
});

function answerTo({ id, batch }: SpanDecoderRequest): SpanDecoderAnswer {
  try {
    const { rows, requestHash } = decodeSpanBatch(batch);
    return { id, packed: packSpanRows(rows), requestHash };
  } catch (error) {
    return error instanceof ValidationError
      ? { id, issues: error.issues }
      : { id, fault: error instanceof Error ? error.message : String(error) };
  }
}
