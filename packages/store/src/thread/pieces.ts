import type { Transferable } from 'node:worker_threads';
import { carryError } from './carried-error.ts';
import type { PieceMessage } from './store-message.ts';

/** Says something to the other side, and gives away what it names. */
export type SayPiece = (message: PieceMessage, transfer?: readonly Transferable[]) => void;

/** How many pieces may be on their way before their reader asks for more. */
export const piecesAhead = 32;

/** Sends what comes piece by piece, never further ahead of its reader than that asks for. */
export class OutgoingPieces {
  readonly #id: number;
  readonly #say: SayPiece;
  readonly #over = new AbortController();
  #credit = piecesAhead;
  #resume: (() => void) | null = null;

  constructor(id: number, say: SayPiece) {
    this.#id = id;
    this.#say = say;
  }

  /** Ends when nobody reads on. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Sends all there is. Rejects never: what goes wrong is sent too, and given back. */
  async send(pieces: AsyncIterable<unknown>): Promise<{ readonly error: unknown } | null> {
    const { signal } = this.#over;
    try {
      for await (const piece of pieces) {
        if (signal.aborted) break;
        this.#sendOne(piece);
        while (this.#credit === 0 && !signal.aborted) {
          await new Promise<void>((resolve) => {
            this.#resume = resolve;
          });
        }
        if (signal.aborted) break;
      }
      this.#say(['end', this.#id]);
      return null;
    } catch (error) {
      this.#say(['broken', this.#id, carryError(error)]);
      return { error };
    }
  }

  /** The reader takes so many more. */
  grant(count: number): void {
    this.#credit += count;
    this.#wake();
  }

  /** Nobody reads on. */
  leave(): void {
    this.#over.abort();
    this.#wake();
  }

  #sendOne(piece: unknown): void {
    this.#credit -= 1;
    if (!(piece instanceof Uint8Array)) {
      this.#say(['piece', this.#id, piece]);
      return;
    }
    // A copy of its own, and no view of a larger memory, all of which would cross.
    const bytes = new Uint8Array(piece);
    this.#say(['piece', this.#id, bytes], [bytes.buffer]);
  }

  #wake(): void {
    this.#resume?.();
    this.#resume = null;
  }
}

/** What comes piece by piece from the other side, for one reader. */
export class IncomingPieces<TPiece> {
  readonly #id: number;
  readonly #say: SayPiece;
  readonly #pieces: TPiece[] = [];
  #taken = 0;
  #outcome: { readonly error: unknown } | 'ended' | null = null;
  #resume: (() => void) | null = null;

  constructor(id: number, say: SayPiece) {
    this.#id = id;
    this.#say = say;
  }

  /** What came, as it comes. */
  async *read(): AsyncGenerator<TPiece, void, undefined> {
    try {
      for (;;) {
        const piece = this.#pieces.shift();
        if (piece !== undefined) {
          this.#askForMore();
          yield piece;
        } else if (this.#outcome === null) {
          await new Promise<void>((resolve) => {
            this.#resume = resolve;
          });
        } else if (this.#outcome === 'ended') return;
        else throw this.#outcome.error;
      }
    } finally {
      this.leave();
    }
  }

  /** A piece came. */
  push(piece: TPiece): void {
    if (this.#outcome !== null) return;
    this.#pieces.push(piece);
    this.#wake();
  }

  /** That was all. */
  end(): void {
    this.#outcome ??= 'ended';
    this.#wake();
  }

  /** There will be no more, because of this. */
  fail(error: unknown): void {
    this.#outcome ??= { error };
    this.#wake();
  }

  /** Reads no more, not even what has come. */
  leave(): void {
    this.#pieces.length = 0;
    if (this.#outcome === null) this.#say(['leave', this.#id]);
    this.end();
  }

  /** In bulk: a word for each piece would cost as much as the pieces. */
  #askForMore(): void {
    this.#taken += 1;
    if (this.#taken < piecesAhead / 2 || this.#outcome !== null) return;
    this.#say(['more', this.#id, this.#taken]);
    this.#taken = 0;
  }

  #wake(): void {
    this.#resume?.();
    this.#resume = null;
  }
}
