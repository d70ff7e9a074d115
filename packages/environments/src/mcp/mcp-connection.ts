import type { JsonObject } from '@agentlightning/core';
import { Client, ProtocolError, ProtocolErrorCode, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { EnvironmentTool } from '../environment/environment.ts';
import { environmentFailure } from '../environment/environment-failure.ts';
import { type PlacedServer, placeServer } from './server-folder.ts';
import { type ServerCommand, ServerProcess, type ServerUrl } from './server-process.ts';

/** The result of a tool call. */
export interface ToolResult {
  /** The text of the result; other content is named by its type. */
  readonly text: string;
  /** Whether the tool reports an error. */
  readonly isError: boolean;
}

/** The end of the rollout or the time limit of the operation decides, not the limit of the SDK. */
const noTimeoutMs = 2 ** 31 - 1;

/** A connection to an MCP server, with the tools that it listed at its start. */
export class McpConnection {
  readonly #client: Client;
  readonly #transport: ServerProcess | StreamableHTTPClientTransport;
  readonly #name: string;
  readonly #removeFolder: () => Promise<void>;
  #tools: readonly EnvironmentTool[] = [];
  #isOpen = false;
  #calls = 0;

  private constructor(name: string, { server, remove }: PlacedServer) {
    this.#name = name;
    this.#removeFolder = remove;
    this.#client = new Client({ name: 'agentlightning', version: '1.0.0' });
    this.#transport =
      'url' in server
        ? new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers: { ...server.headers } } })
        : new ServerProcess(server);
    this.#client.onclose = () => {
      this.#isOpen = false;
    };
  }

  /**
   * Starts or connects to a server and lists its tools.
   *
   * @throws AgentLightningError ENVIRONMENT_FAILED with what the server wrote last
   */
  static async open(name: string, server: ServerCommand | ServerUrl, signal: AbortSignal): Promise<McpConnection> {
    signal.throwIfAborted();
    const placed = await placeServer(server);
    const connection = new McpConnection(name, placed);
    // A server that starts slowly is stopped at once.
    const stop = (): void => void connection.close();
    signal.addEventListener('abort', stop, { once: true });
    try {
      await connection.#connect(signal);
      return connection;
    } catch (error) {
      await connection.close();
      signal.throwIfAborted();
      throw connection.#failure('the start of its server', error);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** The tools of the server. */
  get tools(): readonly EnvironmentTool[] {
    return this.#tools;
  }

  /** Whether the server is still connected. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Number of tool calls so far. */
  get calls(): number {
    return this.#calls;
  }

  /** The process id of the server; null for one at a URL. */
  get pid(): number | null {
    return this.#transport instanceof ServerProcess ? this.#transport.pid : null;
  }

  /**
   * Calls a tool. Errors that the tool reports, and arguments that the server refuses, are results.
   *
   * @throws AgentLightningError ENVIRONMENT_FAILED when the server has crashed or its response is invalid
   */
  async call(tool: string, args: JsonObject, signal: AbortSignal): Promise<ToolResult> {
    signal.throwIfAborted();
    this.#calls += 1;
    try {
      const options = { signal, timeout: noTimeoutMs };
      const result = await this.#client.callTool({ name: tool, arguments: { ...args } }, options);
      return { text: textOfResult(result), isError: result.isError === true };
    } catch (error) {
      if (error instanceof ProtocolError && error.code === ProtocolErrorCode.InvalidParams) {
        return { text: error.message, isError: true };
      }
      signal.throwIfAborted();
      throw this.#failure(`tool ${tool}`, error);
    }
  }

  /** Ends the session and the server's process. */
  async close(): Promise<void> {
    this.#isOpen = false;
    if (this.#transport instanceof StreamableHTTPClientTransport) {
      // Servers without sessions refuse it, and those that are gone do not need it.
      await this.#transport.terminateSession().catch(() => undefined);
    }
    await this.#client.close();
    await this.#transport.close();
    await this.#removeFolder();
  }

  async #connect(signal: AbortSignal): Promise<void> {
    const options = { signal, timeout: noTimeoutMs };
    await this.#client.connect(this.#transport, options);
    this.#isOpen = true;
    const { tools } = await this.#client.listTools(undefined, options);
    this.#tools = tools.map(({ name, description = '', inputSchema }) => ({
      name,
      description,
      parameters: inputSchema as JsonObject,
    }));
  }

  #failure(operation: string, cause: unknown): Error {
    const output = this.#transport instanceof ServerProcess ? this.#transport.output : '';
    return environmentFailure(this.#name, operation, { cause, output });
  }
}

/** Content of a result: its texts, and the types of what is not text. */
function textOfResult(result: Awaited<ReturnType<Client['callTool']>>): string {
  const parts = result.content.map((part) => {
    if (part.type === 'text') return part.text;
    if (part.type === 'resource' && 'text' in part.resource) return part.resource.text;
    return `[${'mimeType' in part && part.mimeType !== undefined ? part.mimeType : part.type}]`;
  });
  if (parts.length === 0 && result.structuredContent !== undefined) return JSON.stringify(result.structuredContent);
  return parts.join('\n');
}
