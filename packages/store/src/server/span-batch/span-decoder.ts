import type { Worker } from 'node:worker_threads';
import { AgentLightningError, type ValidationIssue } from '@agentlightning/core';
import { newThread, programBeside } from '../../own-thread.ts';
import { MalformedRequestError } from '../malformed-request-error.ts';
import { type DecodedSpanBatch, decodeSpanBatch, type EncodedSpanBatch } from './decode-span-batch.ts';
import { type PackedSpanRows, unpackSpanRows } from './packed-span-rows.ts';
import { lengthOf } from './read-pieces.ts';

/** What the thread is asked. */
export interface SpanDecoderRequest {
  readonly id: number;
  readonly batch: EncodedSpanBatch;
}

/** What the thread answers: the batch, or what is wrong with it, or what went wrong. */
export type SpanDecoderAnswer = { readonly id: number } & (
  | { readonly packed: PackedSpanRows; readonly requestHash: DecodedSpanBatch['requestHash'] }
  | { readonly issues: readonly ValidationIssue[] }
  | { readonly fault: string }
);

/** A batch on its way through the thread. */
interface Pending {
  readonly batch: EncodedSpanBatch;
  readonly settle: (decoded: DecodedSpanBatch | Promise<DecodedSpanBatch>) => void;
  readonly fail: (error: unknown) => void;
}

/** How a decoder works. */
export interface SpanDecoderOptions {
  /** From how many bytes on a batch is read by the other thread: below, handing it over costs more. @default 32768 */
  readonly threadFromBytes?: number;
  /** How long the thread waits for another batch before it ends, in milliseconds. @default 10000 */
  readonly idleMs?: number;
  /** The program of the thread. @default the one beside this file */
  readonly program?: URL;
}

/**
 * Reads batches of spans. Large ones are read by another thread, so that the one that serves everybody keeps on
 * serving, and writes spans while the next ones are read. The thread begins with the first large batch and ends by
 * itself; where it cannot run (in a program that was bundled without it), this thread reads them.
 */
export class SpanDecoder {
  readonly #threadFromBytes: number;
  readonly #idleMs: number;
  readonly #program: URL;
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | null = null;
  #isUsable = true;
  #hasAnswered = false;
  #lastId = 0;
  #idle: NodeJS.Timeout | null = null;

  constructor(options: SpanDecoderOptions = {}) {
    this.#threadFromBytes = options.threadFromBytes ?? 32_768;
    this.#idleMs = options.idleMs ?? 10_000;
    this.#program = options.program ?? programBeside(import.meta.url, 'span-decoder-worker');
  }

  /**
   * Reads a batch, whose bytes are the decoder's from now on.
   *
   * @throws MalformedRequestError when it is no JSON or does not have the shape
   */
  async decode(batch: EncodedSpanBatch): Promise<DecodedSpanBatch> {
    if (!this.#isUsable || lengthOf(batch.pieces) < this.#threadFromBytes) return decodeSpanBatch(batch);
    return new Promise((settle, fail) => {
      this.#worker ??= this.#start();
      this.#keepAwake();
      const id = ++this.#lastId;
      this.#pending.set(id, { batch, settle, fail });
      // Until the thread has shown that it runs, a copy is given away: the batch stays, should the thread fail.
      const pieces = batch.pieces.map((piece) => (this.#hasAnswered && isWhole(piece) ? piece : piece.slice()));
      const request: SpanDecoderRequest = { id, batch: { pieces, hashPrefix: batch.hashPrefix } };
      const given = pieces.map(({ buffer }) => buffer);
      this.#worker.postMessage(request, given);
    });
  }

  #start(): Worker {
    const worker = newThread(this.#program);
    worker.on('message', (answer: SpanDecoderAnswer) => this.#answer(answer));
    worker.on('error', () => {
      this.#isUsable = false;
    });
    worker.on('exit', () => this.#ended());
    worker.unref();
    return worker;
  }

  #answer(answer: SpanDecoderAnswer): void {
    this.#hasAnswered = true;
    const pending = this.#pending.get(answer.id);
    this.#pending.delete(answer.id);
    if (this.#pending.size === 0) this.#endWhenIdle();
    if ('packed' in answer) pending?.settle({ rows: unpackSpanRows(answer.packed), requestHash: answer.requestHash });
    else if ('issues' in answer) pending?.fail(new MalformedRequestError(answer.issues));
    else pending?.fail(faultOf(answer.fault));
  }

  /** What the thread has left behind is read here, unless it took it along. */
  #ended(): void {
    this.#worker = null;
    this.#hasAnswered = false;
    const left = [...this.#pending.values()];
    this.#pending.clear();
    for (const { batch, settle, fail } of left) {
      if (lengthOf(batch.pieces) === 0) fail(faultOf('its thread has ended'));
      else settle(Promise.resolve().then(() => decodeSpanBatch(batch)));
    }
  }

  #keepAwake(): void {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#idle = null;
    // Somebody waits for the answer.
    this.#worker?.ref();
  }

  #endWhenIdle(): void {
    this.#worker?.unref();
    this.#idle = setTimeout(() => void this.#worker?.terminate(), this.#idleMs);
    this.#idle.unref();
  }
}

function isWhole({ buffer, byteLength }: Uint8Array): boolean {
  return buffer.byteLength === byteLength;
}

function faultOf(fault: string): AgentLightningError {
  return new AgentLightningError({ code: 'INTERNAL', message: `Reading spans failed: ${fault}` });
}
