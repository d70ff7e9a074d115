import { connect, type Socket } from 'node:net';

/** Times of a response by the clock of the machine, in milliseconds. */
export interface RawResponse {
  readonly firstByteMs: number;
  readonly endMs: number;
  /** Time of each timestamped chunk from the model to the client, in milliseconds. */
  readonly chunkMs: readonly number[];
}

/** The monotonic clock of the machine, shared by its processes, in milliseconds. */
export function sharedNowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** An encoded request. */
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
 * A persistent connection with one request at a time. It parses only the required parts of a response: a complete HTTP
 * client would take more CPU time than the measured proxy.
 */
export class RawConnection {
  readonly #socket: Socket;
  #text = '';
  #bodyStart = -1;
  #length = -1;
  #timestampsUntil = 0;
  #firstByteMs = 0;
  #chunkMs: number[] = [];
  #done: { resolve: (response: RawResponse) => void; reject: (error: Error) => void } | null = null;

  constructor(port: number) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.setEncoding('latin1');
    this.#socket.on('data', (text: string) => this.#read(text));
    this.#socket.on('error', (error) => this.#done?.reject(error));
    this.#socket.on('close', () => this.#done?.reject(new Error(`the connection closed after ${this.#text}`)));
  }

  /** Resolves when the response is complete. Rejects when its status is not 200. */
  send(bytes: Buffer): Promise<RawResponse> {
    this.#text = '';
    this.#bodyStart = -1;
    this.#timestampsUntil = 0;
    this.#firstByteMs = 0;
    this.#chunkMs = [];
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
    this.#readTimestamps();
    const isWhole =
      this.#length >= 0 ? this.#text.length - this.#bodyStart >= this.#length : this.#text.endsWith('0\r\n\r\n');
    if (!isWhole) return;
    const done = this.#done;
    this.#done = null;
    const isSuccess = this.#text.startsWith('HTTP/1.1 200');
    const isBroken = this.#length < 0 && !this.#text.includes('[DONE]');
    if (isSuccess && !isBroken) {
      done?.resolve({ firstByteMs: this.#firstByteMs, endMs: sharedNowMs(), chunkMs: this.#chunkMs });
    } else done?.reject(new Error(`a call failed:\n${this.#text}`));
  }

  #readHead(): boolean {
    const end = this.#text.indexOf('\r\n\r\n');
    if (end < 0) return false;
    this.#bodyStart = end + 4;
    const length = /\r\ncontent-length: (\d+)/i.exec(this.#text.slice(0, end))?.[1];
    this.#length = length === undefined ? -1 : Number(length);
    return true;
  }

  #readTimestamps(): void {
    if (this.#length >= 0) return;
    for (;;) {
      const at = this.#text.indexOf('@', this.#timestampsUntil);
      const end = at < 0 ? -1 : this.#text.indexOf(';', at);
      if (end < 0) return;
      this.#timestampsUntil = end;
      const writtenMs = Number(this.#text.slice(at + 1, end)) / 1e6;
      this.#chunkMs.push(sharedNowMs() - writtenMs);
    }
  }
}
