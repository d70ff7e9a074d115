import type { Command } from 'commander';
import { defaultStoreUrl } from '../../config/environment.ts';
import { storeHelp } from '../flags.ts';
import type { McpFlags } from './run-mcp.ts';

const help = `
The server only reads. Standard output carries the protocol and nothing else.

AGL_STORE_KEY is the key for a store server.

Example, as the configuration of a coding agent:
  { "mcpServers": { "agentlightning": { "command": "npx", "args": ["-y", "agentlightning", "mcp", "--store", "sqlite:.agl/agl.db"] } } }`;

/** Adds `agl mcp`. */
export function addMcpCommand(program: Command): void {
  program
    .command('mcp')
    .description('Serve runs, metrics and rollouts of a store to coding agents, over MCP on the standard streams.')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .addHelpText('after', help)
    .action(async (flags: McpFlags) => {
      const { runMcp } = await import('./run-mcp.ts');
      await runMcp(flags);
    });
}
