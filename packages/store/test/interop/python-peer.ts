import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { JsonObject, JsonValue } from '@agentlightning/core';

/** The response of the Python side. */
interface PeerResponse {
  readonly ok?: JsonValue;
  readonly error?: { readonly type: string; readonly status: number | null; readonly text: string };
}

/** A program in Python that responds to each line with a line. */
class PythonPeer implements AsyncDisposable {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;
  #complaints = '';

  constructor(python: string, args: readonly string[]) {
    this.#child = spawn(python, ['-u', join(import.meta.dirname, 'peer.py'), ...args]);
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#complaints += text;
    });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  send(line: string): void {
    this.#child.stdin.write(`${line}\n`);
  }

  async read(): Promise<unknown> {
    const { done, value } = await this.#lines.next();
    if (done === true) throw new TypeError(`The Python side ended:\n${this.#complaints}`);
    return JSON.parse(value);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('close', resolve));
    this.#child.stdin.end();
    await ended;
  }
}

/** The client of the Python package, controlled by requests. */
export class PythonClient implements AsyncDisposable {
  readonly #peer: PythonPeer;
  readonly #called = new Set<string>();

  constructor(python: string, url: string) {
    this.#peer = new PythonPeer(python, ['client', url]);
  }

  /** The methods that were called. */
  get called(): ReadonlySet<string> {
    return this.#called;
  }

  /** Calls a method, and gives back what it returned as JSON. One call at a time. */
  async call<TResult>(method: string, args: JsonObject = {}): Promise<TResult> {
    const { ok, error } = await this.#ask(method, args);
    if (error !== undefined) throw new TypeError(`${method}: ${error.type}: ${error.text}`);
    // Trusted: the test says what the method returns, and looks at it.
    return ok as TResult;
  }

  /** Calls a method that fails, and returns the status of the response. */
  async statusOf(method: string, args: JsonObject = {}): Promise<number | null> {
    const { error } = await this.#ask(method, args);
    if (error === undefined) throw new TypeError(`${method} did not fail`);
    return error.status;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#peer[Symbol.asyncDispose]();
  }

  async #ask(method: string, args: JsonObject): Promise<PeerResponse> {
    this.#called.add(method);
    this.#peer.send(JSON.stringify({ method, args }));
    return (await this.#peer.read()) as PeerResponse;
  }
}

/** The Python package's own server, over its store in memory. */
export interface PythonServer extends AsyncDisposable {
  readonly url: string;
}

/** Starts the Python package's own server. */
export async function startPythonServer(python: string): Promise<PythonServer> {
  const peer = new PythonPeer(python, ['server']);
  const { url } = (await peer.read()) as { readonly url: string };
  return { url, [Symbol.asyncDispose]: () => peer[Symbol.asyncDispose]() };
}
