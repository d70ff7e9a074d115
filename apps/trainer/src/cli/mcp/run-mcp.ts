import { once } from 'node:events';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { createMcpServer } from './mcp-server.ts';
import { StoreReader } from './store-reader.ts';

/** The flags of `agl mcp`. */
export interface McpFlags {
  readonly store: string;
}

/** Serves MCP on the standard streams until the client closes the input, or a signal arrives. */
export async function runMcp({ store }: McpFlags): Promise<void> {
  await using reader = new StoreReader(store);
  const server = createMcpServer(reader);
  const ended = Promise.race([once(process.stdin, 'end'), once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  await server.connect(new StdioServerTransport());
  await ended;
  await server.close();
}
