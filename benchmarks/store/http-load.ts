import { Agent, request as httpRequest } from 'node:http';

/** One request of a load. */
export interface LoadRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** JSON text, or its bytes where encoding would be part of the measurement; null for none. */
  readonly body: string | Buffer | null;
  /** Makes a repeated request idempotent, where the server supports it. */
  readonly idempotencyKey?: string;
}

/** Result of a load. */
export interface LoadResult {
  readonly perSecond: number;
  /** Latency of each request, in milliseconds. */
  readonly latenciesMs: readonly number[];
}

/**
 * Sends requests to one server over persistent connections, with as little overhead as possible on the client.
 */
export class HttpLoad {
  readonly #url: URL;
  readonly #agent = new Agent({ keepAlive: true, maxFreeSockets: 10_000 });

  constructor(baseUrl: string) {
    this.#url = new URL(baseUrl);
  }

  /** Sends one request and returns the JSON of its response. */
  async json<TResponse>(request: LoadRequest): Promise<TResponse> {
    return JSON.parse(await this.send(request)) as TResponse;
  }

  /** Sends one request and returns the body of its response. Throws for an error status. */
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
          else reject(new Error(`${method} ${path} returned ${statusCode}: ${text.slice(0, 300)}`));
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
   * Sends a number of requests in a closed loop: each client sends its next request after the response to the previous
   * one.
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
