import { errorFromCarried } from './carried-error.ts';
import { IncomingPieces, OutgoingPieces, type SayPiece } from './pieces.ts';
import type { PieceMessage } from './store-message.ts';

/** All that comes and goes piece by piece at one side. */
export class PieceTraffic {
  readonly #say: SayPiece;
  readonly #incoming = new Map<number, IncomingPieces<unknown>>();
  readonly #outgoing = new Map<number, OutgoingPieces>();

  constructor(say: SayPiece) {
    this.#say = say;
  }

  /** What the other side sends under this id. */
  receive<TPiece>(id: number): IncomingPieces<TPiece> {
    const incoming = new IncomingPieces<TPiece>(id, this.#say);
    this.#incoming.set(id, incoming);
    return incoming;
  }

  /** Sends to the other side under this id; what it could not read is given back. */
  async send(
    id: number,
    piecesFor: (signal: AbortSignal) => AsyncIterable<unknown>,
  ): Promise<{ readonly error: unknown } | null> {
    const outgoing = new OutgoingPieces(id, this.#say);
    this.#outgoing.set(id, outgoing);
    const failure = await outgoing.send(piecesFor(outgoing.signal));
    this.#outgoing.delete(id);
    return failure;
  }

  /** Takes what the other side says. */
  take(message: PieceMessage): void {
    const [kind, id] = message;
    if (kind === 'more') this.#outgoing.get(id)?.grant(message[2]);
    else if (kind === 'leave') this.#outgoing.get(id)?.leave();
    else if (kind === 'piece') this.#incoming.get(id)?.push(message[2]);
    else this.#endIncoming(id, kind === 'broken' ? { error: errorFromCarried(message[2]) } : null);
  }

  /** Ends everything, because of this. */
  fail(error: unknown): void {
    for (const id of [...this.#incoming.keys()]) this.#endIncoming(id, { error });
    for (const outgoing of this.#outgoing.values()) outgoing.leave();
  }

  #endIncoming(id: number, failure: { readonly error: unknown } | null): void {
    const incoming = this.#incoming.get(id);
    this.#incoming.delete(id);
    if (failure === null) incoming?.end();
    else incoming?.fail(failure.error);
  }
}
