import { Agent, request as httpRequest } from 'node:http';

/** One request of a load. */
export interface LoadRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** JSON text, or its bytes where making them would take time that is measured; null for none. */
  readonly body: string | Buffer | null;
  /** Makes a request that is sent again have one effect; the server need not know it. */
  readonly idempotencyKey?: string;
}

/** How a load went. */
export interface LoadResult {
  readonly perSecond: number;
  /** Of each request, in milliseconds. */
  readonly latenciesMs: readonly number[];
}

/** The middle latency, and the one that only one request in a hundred exceeds, in milliseconds. */
export function percentiles(latenciesMs: readonly number[]): { readonly p50: number; readonly p99: number } {
  const sorted = [...latenciesMs].sort((left, right) => left - right);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50: at(0.5), p99: at(0.99) };
}

/**
 * Sends requests to one server over connections that stay open. It is as thin as Node allows, so that
 * what is measured is the server; the same load goes to every server.
 */
export class HttpLoad {
  readonly #url: URL;
  readonly #agent = new Agent({ keepAlive: true, maxFreeSockets: 10_000 });

  constructor(baseUrl: string) {
    this.#url = new URL(baseUrl);
  }

  /** Sends one request and reads its JSON answer. */
  async json<TAnswer>(request: LoadRequest): Promise<TAnswer> {
    return JSON.parse(await this.send(request)) as TAnswer;
  }

  /** Sends one request and reads its answer. Throws when the server refuses it. */
  send(request: LoadRequest): Promise<string> {
    const { method, path, body, idempotencyKey } = request;
    const headers = {
      ...(body === null ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    };
    const { hostname, port } = this.#url;
    return new Promise((resolve, reject) => {
      const sent = httpRequest({ hostname, port, path, method, headers, agent: this.#agent }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('error', reject);
        response.on('end', () => {
          const { statusCode = 0 } = response;
          if (statusCode < 300) resolve(text);
          else reject(new Error(`${method} ${path} answered ${statusCode}: ${text.slice(0, 300)}`));
        });
      });
      sent.on('error', (error: NodeJS.ErrnoException) => {
        // The server closed an idle connection while it was being reused.
        if (sent.reusedSocket && error.code === 'ECONNRESET') resolve(this.send(request));
        else reject(error);
      });
      sent.end(body ?? undefined);
    });
  }

  /**
   * Sends a number of requests in a closed loop: as many clients as asked for, each of which sends its next request
   * when the last one is answered.
   */
  async closedLoop(
    count: number,
    clients: number,
    requestOf: (index: number, client: number) => LoadRequest,
  ): Promise<LoadResult> {
    const latenciesMs: number[] = [];
    let next = 0;
    const client = async (number: number): Promise<void> => {
      while (next < count) {
        const request = requestOf(next++, number);
        const beganMs = performance.now();
        await this.send(request);
        latenciesMs.push(performance.now() - beganMs);
      }
    };
    const beganMs = performance.now();
    await Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
    return { perSecond: (count / (performance.now() - beganMs)) * 1000, latenciesMs };
  }

  /** Closes the connections. */
  close(): void {
    this.#agent.destroy();
  }
}
