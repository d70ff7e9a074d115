import { parentPort } from 'node:worker_threads';
import { ValidationError } from '@agentlightning/core';
import { decodeSpanBatch } from './decode-span-batch.ts';
import type { SpanDecoderAnswer, SpanDecoderRequest } from './span-decoder.ts';

/** A thread that reads batches of spans for {@link SpanDecoder}. */
parentPort?.on('message', (request: SpanDecoderRequest) => parentPort?.postMessage(answerTo(request)));

function answerTo({ id, batch }: SpanDecoderRequest): SpanDecoderAnswer {
  try {
    return { id, decoded: decodeSpanBatch(batch) };
  } catch (error) {
    return error instanceof ValidationError
      ? { id, issues: error.issues }
      : { id, fault: error instanceof Error ? error.message : String(error) };
  }
}
