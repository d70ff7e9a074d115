import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { openStore } from '@agentlightning/store';
import { serveGateway } from '../../src/index.ts';
import { Dice } from './dice.ts';
import { type OddRequest, oddRequest } from './odd-request.ts';
import { startOddUpstream } from './odd-upstream.ts';

/** What a gateway is treated with. */
export interface FuzzOptions {
  readonly requests: number;
  readonly seed: number;
  /** Whether the model server too answers in ways that it should not. */
  readonly isUpstreamOdd: boolean;
  /** Told after every hundred requests. */
  readonly onProgress?: (done: number) => void;
}

/** What came of it. */
export interface FuzzReport {
  /** How many answers had each status; `none` where the sender hung up or the server closed. */
  readonly statuses: Readonly<Record<string, number>>;
  /** What must not happen: faults of ours, hangs, calls that are still in flight. */
  readonly findings: readonly string[];
  /** Bytes of the heap when a fifth was done, and at the end, after collecting; 0 where that cannot be asked for. */
  readonly heapBytes: readonly [number, number];
  /** Sockets that were left over. */
  readonly openSockets: number;
}

interface Answered {
  readonly status: number | 'none' | 'hung';
  readonly body: string;
}

/** No answer may take longer, with an upstream on the same machine. */
const hangMs = 30_000;

/** How many requests are under way at a time. */
const lanes = 16;

/** Sends a gateway many requests that make little sense, and looks for what must not happen. */
export async function runFuzz(options: FuzzOptions): Promise<FuzzReport> {
  const before = openSockets();
  const seeds = new Dice(options.seed);
  await using upstream = await startOddUpstream(options.isUpstreamOdd ? new Dice(seeds.below(2 ** 31)) : null);
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
  await Promise.all(Array.from({ length: lanes }, () => run.lane()));
  const findings = [...run.findings, ...faults];
  await gateway.drain(hangMs).catch((error: unknown) => findings.push(`it does not drain: ${String(error)}`));
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

/** Where requests go, and what they are made of. */
interface FuzzPlace {
  readonly url: string;
  readonly roots: readonly [string, ...string[]];
  readonly seeds: Dice;
}

class FuzzRun {
  readonly findings: string[] = [];
  readonly statuses: Record<string, number> = {};
  heapEarly = 0;
  readonly #options: FuzzOptions;
  readonly #place: FuzzPlace;
  #begun = 0;
  #done = 0;

  constructor(options: FuzzOptions, place: FuzzPlace) {
    this.#options = options;
    this.#place = place;
  }

  /** Sends one request after another until all are done. */
  async lane(): Promise<void> {
    const { requests, onProgress } = this.#options;
    while (this.#begun < requests) {
      this.#begun += 1;
      const seed = this.#place.seeds.below(2 ** 31);
      const odd = oddRequest(new Dice(seed), this.#place.roots);
      this.#judge(await send(this.#place.url, odd), odd, seed);
      this.#done += 1;
      if (this.#done === Math.floor(requests / 5)) this.heapEarly = collectedHeapBytes();
      if (this.#done % 100 === 0) onProgress?.(this.#done);
    }
  }

  #judge({ status, body }: Answered, odd: OddRequest, seed: number): void {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
    const about = `seed ${seed}, ${odd.method} ${odd.path.slice(0, 100)}`;
    if (status === 'hung') this.findings.push(`no answer in ${hangMs} ms: ${about}`);
    if (typeof status !== 'number' || status < 500) return;
    // Only an upstream that fails makes the gateway answer so.
    const isUpstreamsFault = this.#options.isUpstreamOdd && (status === 502 || status === 504);
    if (!isUpstreamsFault) this.findings.push(`answered ${status}: ${about}: ${body.slice(0, 300)}`);
  }
}

function send(url: string, odd: OddRequest): Promise<Answered> {
  return odd.raw === null ? sendRequest(url, odd) : sendRaw(url, odd.raw);
}

function sendRequest(url: string, { method, path, headers, body, hangUpAfterMs }: OddRequest): Promise<Answered> {
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
    const end = (status: Answered['status'], text = ''): void => {
      clearTimeout(timer);
      clearTimeout(hangUp);
      sent.destroy();
      resolve({ status, body: text });
    };
    sent.on('error', () => end('none'));
    sent.end(body ?? undefined);
  });
}

/** Bytes that may be no HTTP: whatever comes back must come, or the connection must end. */
function sendRaw(url: string, bytes: string): Promise<Answered> {
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
