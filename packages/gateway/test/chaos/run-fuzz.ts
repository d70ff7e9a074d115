import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { openStore } from '@agentlightning/store';
import { serveGateway } from '../../src/index.ts';
import { startFaultyUpstream } from './faulty-upstream.ts';
import { type FuzzRequest, fuzzRequest } from './fuzz-request.ts';
import { SeededRandom } from './seeded-random.ts';

/** Options of {@link runFuzz}. */
export interface FuzzOptions {
  readonly requests: number;
  readonly seed: number;
  /** Whether the model server is faulty as well. */
  readonly isUpstreamOdd: boolean;
  /** Called after every hundred requests. */
  readonly onProgress?: (done: number) => void;
}

/** The result of a run. */
export interface FuzzReport {
  /** Responses by status; `none` where the client disconnected or the server closed the connection. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Violations: internal errors, hangs, calls still in flight. */
  readonly findings: readonly string[];
  /** Heap size after a fifth of the requests, and at the end, after garbage collection; 0 without `--expose-gc`. */
  readonly heapBytes: readonly [number, number];
  /** Leaked sockets. */
  readonly openSockets: number;
}

interface FuzzResponse {
  readonly status: number | 'none' | 'hung';
  readonly body: string;
}

/** Limit for a response, with an upstream on the same machine. */
const hangMs = 30_000;

/** Requests in flight. */
const concurrency = 16;

/** Sends malformed requests to a gateway, and checks for violations. */
export async function runFuzz(options: FuzzOptions): Promise<FuzzReport> {
  const before = openSockets();
  const seeds = new SeededRandom(options.seed);
  await using upstream = await startFaultyUpstream(
    options.isUpstreamOdd ? new SeededRandom(seeds.below(2 ** 31)) : null,
  );
  const store = await openStore(':memory:');
  const faults: string[] = [];
  const gateway = await serveGateway({
    store,
    upstream: { baseUrl: upstream.baseUrl, model: 'policy' },
    retry: { maxRetries: 1, baseDelayMs: 1, maxDelayMs: 1 },
    upstreamTimeoutMs: 10_000,
    log: { warn: () => undefined, error: (details, message) => void faults.push(`${message}: ${stackIn(details)}`) },
  });
  const running = await store.startRollout({ input: 1 });
  const ended = await store.startRollout({ input: 2 });
  await store.updateAttempt(ended.rolloutId, ended.attempt.attemptId, { status: 'succeeded' });
  const rootOf = ({ rolloutId, attempt }: typeof running): string =>
    `/rollout/${rolloutId}/attempt/${attempt.attemptId}/v1`;
  const run = new FuzzRun(options, { url: gateway.url, roots: ['/v1', rootOf(running), '', rootOf(ended)], seeds });
  await Promise.all(Array.from({ length: concurrency }, () => run.sendAll()));
  const findings = [...run.findings, ...faults];
  await gateway.drain(hangMs).catch((error: unknown) => findings.push(`calls do not drain: ${String(error)}`));
  const { inFlight } = gateway.state();
  if (inFlight !== 0) findings.push(`${inFlight} calls are still in flight`);
  const heapAtEnd = collectedHeapBytes();
  await gateway.close();
  await store.close();
  await upstream[Symbol.asyncDispose]();
  await new Promise((resolve) => setTimeout(resolve, 50));
  return {
    statuses: run.statuses,
    findings,
    heapBytes: [run.heapEarly, heapAtEnd],
    openSockets: openSockets() - before,
  };
}

/** The gateway's address, and the inputs of requests. */
interface FuzzTarget {
  readonly url: string;
  readonly roots: readonly [string, ...string[]];
  readonly seeds: SeededRandom;
}

class FuzzRun {
  readonly findings: string[] = [];
  readonly statuses: Record<string, number> = {};
  heapEarly = 0;
  readonly #options: FuzzOptions;
  readonly #target: FuzzTarget;
  #begun = 0;
  #done = 0;

  constructor(options: FuzzOptions, target: FuzzTarget) {
    this.#options = options;
    this.#target = target;
  }

  /** Sends requests one after another until all are done. */
  async sendAll(): Promise<void> {
    const { requests, onProgress } = this.#options;
    while (this.#begun < requests) {
      this.#begun += 1;
      const seed = this.#target.seeds.below(2 ** 31);
      const request = fuzzRequest(new SeededRandom(seed), this.#target.roots);
      this.#judge(await send(this.#target.url, request), request, seed);
      this.#done += 1;
      if (this.#done === Math.floor(requests / 5)) this.heapEarly = collectedHeapBytes();
      if (this.#done % 100 === 0) onProgress?.(this.#done);
    }
  }

  #judge({ status, body }: FuzzResponse, request: FuzzRequest, seed: number): void {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
    const about = `seed ${seed}, ${request.method} ${request.path.slice(0, 100)}`;
    if (status === 'hung') this.findings.push(`no response in ${hangMs} ms: ${about}`);
    if (typeof status !== 'number' || status < 500) return;
    // Only an upstream failure may cause these statuses.
    const isUpstreamsFault = this.#options.isUpstreamOdd && (status === 502 || status === 504);
    if (!isUpstreamsFault) this.findings.push(`status ${status}: ${about}: ${body.slice(0, 300)}`);
  }
}

function send(url: string, request: FuzzRequest): Promise<FuzzResponse> {
  return request.raw === null ? sendRequest(url, request) : sendRaw(url, request.raw);
}

function sendRequest(url: string, { method, path, headers, body, hangUpAfterMs }: FuzzRequest): Promise<FuzzResponse> {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(url);
    const sent = httpRequest({ hostname, port, method, path, headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('close', () => end(response.complete ? (response.statusCode ?? 'none') : 'none', text));
      response.on('error', () => end('none'));
    });
    const timer = setTimeout(() => end('hung'), hangMs);
    const hangUp = hangUpAfterMs === null ? undefined : setTimeout(() => sent.destroy(), hangUpAfterMs);
    const end = (status: FuzzResponse['status'], text = ''): void => {
      clearTimeout(timer);
      clearTimeout(hangUp);
      sent.destroy();
      resolve({ status, body: text });
    };
    sent.on('error', () => end('none'));
    sent.end(body ?? undefined);
  });
}

/** Sends raw bytes: the server must respond or close the connection. */
function sendRaw(url: string, bytes: string): Promise<FuzzResponse> {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(url);
    let text = '';
    const socket = connect(Number(port), hostname, () => socket.end(bytes, 'latin1'));
    const timer = setTimeout(() => socket.destroy(new Error('hung')), hangMs);
    socket.on('data', (part: Buffer) => {
      text += part.toString('latin1');
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
      resolve({ status: status === undefined ? 'none' : Number(status), body: text });
    });
  });
}

function stackIn(details: object): string {
  return 'err' in details && details.err instanceof Error ? (details.err.stack ?? '') : JSON.stringify(details);
}

function openSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap' || name === 'TCPServerWrap').length;
}

function collectedHeapBytes(): number {
  if (globalThis.gc === undefined) return 0;
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}
