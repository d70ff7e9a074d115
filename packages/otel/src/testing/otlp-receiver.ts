import { createServer, type IncomingHttpHeaders } from 'node:http';
import { gunzipSync } from 'node:zlib';

/** A request that a receiver got. */
export interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A response of a receiver. */
export interface PlannedResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/**
 * An HTTP server that keeps what it receives, and responds as planned, then with 200.
 *
 * @example
 * ```ts
 * await using receiver = await OtlpReceiver.start({ status: 503 });
 * await new TraceExporter({ target: traceTarget('otlp', {}, { endpoint: receiver.url }) }).export(spans);
 * expect(receiver.requests).toHaveLength(2);
 * ```
 */
export class OtlpReceiver implements AsyncDisposable {
  readonly requests: ReceivedRequest[] = [];
  readonly #planned: PlannedResponse[];
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const isZipped = request.headers['content-encoding'] === 'gzip';
      const { url: path = '', headers } = request;
      this.requests.push({ path, headers, body: isZipped ? gunzipSync(body) : body });
      const planned = this.#planned.shift() ?? { status: 200 };
      response.writeHead(planned.status, planned.headers).end(planned.body ?? '');
    });
  });

  private constructor(planned: readonly PlannedResponse[]) {
    this.#planned = [...planned];
  }

  /** Listens at a free port of loopback. */
  static async start(...planned: readonly PlannedResponse[]): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver(planned);
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  /** Its base address. */
  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`;
  }

  /** Closes it, with its connections. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
