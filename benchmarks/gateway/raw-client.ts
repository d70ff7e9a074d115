import { connect, type Socket } from 'node:net';

/** When the parts of an answer came, by the clock that all processes share, in milliseconds. */
export interface Answered {
  readonly firstByteMs: number;
  readonly endMs: number;
  /** From the writing of each stamped part at the model to its arrival here, in milliseconds. */
  readonly passageMs: readonly number[];
}

/** The time by the clock that all processes of the machine share, in milliseconds. */
export function sharedNowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** A request, ready to be sent again and again. */
export function rawRequest(url: string, body: object, key: string | null = null): { port: number; bytes: Buffer } {
  const { host, pathname, port } = new URL(`${url}/chat/completions`);
  const text = JSON.stringify(body);
  const lines = [
    `POST ${pathname} HTTP/1.1`,
    `Host: ${host}`,
    'Content-Type: application/json',
    ...(key === null ? [] : [`Authorization: Bearer ${key}`]),
    `Content-Length: ${Buffer.byteLength(text)}`,
  ];
  return { port: Number(port), bytes: Buffer.from(`${lines.join('\r\n')}\r\n\r\n${text}`) };
}

/**
 * One connection that is kept open, and one request on it at a time. It reads of the answer only what it must: any
 * HTTP client of Node costs more than what is measured here.
 */
export class RawConnection {
  readonly #socket: Socket;
  #text = '';
  #bodyStart = -1;
  #length = -1;
  #stampedUntil = 0;
  #firstByteMs = 0;
  #passageMs: number[] = [];
  #done: { resolve: (answered: Answered) => void; reject: (error: Error) => void } | null = null;

  constructor(port: number) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.setEncoding('latin1');
    this.#socket.on('data', (text: string) => this.#read(text));
    this.#socket.on('error', (error) => this.#done?.reject(error));
    this.#socket.on('close', () => this.#done?.reject(new Error(`the connection closed after ${this.#text}`)));
  }

  /** Resolves when the answer is whole. Rejects when its status is not 200. */
  ask(bytes: Buffer): Promise<Answered> {
    this.#text = '';
    this.#bodyStart = -1;
    this.#stampedUntil = 0;
    this.#firstByteMs = 0;
    this.#passageMs = [];
    return new Promise((resolve, reject) => {
      this.#done = { resolve, reject };
      this.#socket.write(bytes);
    });
  }

  close(): void {
    this.#done = null;
    this.#socket.destroy();
  }

  #read(text: string): void {
    if (this.#text === '') this.#firstByteMs = sharedNowMs();
    this.#text += text;
    if (this.#bodyStart < 0 && !this.#readHead()) return;
    this.#readStamps();
    const isWhole =
      this.#length >= 0 ? this.#text.length - this.#bodyStart >= this.#length : this.#text.endsWith('0\r\n\r\n');
    if (!isWhole) return;
    const done = this.#done;
    this.#done = null;
    const isGood = this.#text.startsWith('HTTP/1.1 200');
    const isBroken = this.#length < 0 && !this.#text.includes('[DONE]');
    if (isGood && !isBroken) {
      done?.resolve({ firstByteMs: this.#firstByteMs, endMs: sharedNowMs(), passageMs: this.#passageMs });
    } else done?.reject(new Error(`a call was answered\n${this.#text}`));
  }

  #readHead(): boolean {
    const end = this.#text.indexOf('\r\n\r\n');
    if (end < 0) return false;
    this.#bodyStart = end + 4;
    const length = /\r\ncontent-length: (\d+)/i.exec(this.#text.slice(0, end))?.[1];
    this.#length = length === undefined ? -1 : Number(length);
    return true;
  }

  #readStamps(): void {
    if (this.#length >= 0) return;
    for (;;) {
      const at = this.#text.indexOf('@', this.#stampedUntil);
      const end = at < 0 ? -1 : this.#text.indexOf(';', at);
      if (end < 0) return;
      this.#stampedUntil = end;
      const writtenMs = Number(this.#text.slice(at + 1, end)) / 1e6;
      this.#passageMs.push(sharedNowMs() - writtenMs);
    }
  }
}
