import type { Command } from 'commander';
import { wholeNumber } from './number-flag.ts';
import type { GatewayFlags } from './run-gateway.ts';

/** Adds `agl gateway`. */
export function addGatewayCommand(program: Command): void {
  program
    .command('gateway')
    .description('Serve the gateway: an OpenAI-compatible proxy that records every call with its token ids.')
    .requiredOption('--store <url>', 'where calls are recorded: sqlite:<file>, or the http address of a store server')
    .requiredOption('--upstream <url>', 'the model server, up to and with /v1')
    .option('--model <name>', "the model's name there; the agent's own when absent")
    .option('--host <host>', 'the address to bind to; any but loopback needs a key', '127.0.0.1')
    .option('--port <n>', 'the port; 0 takes any free one', wholeNumber({ min: 0, max: 65535 }), 4750)
    .addHelpText(
      'after',
      '\nKeys: AGL_GATEWAY_KEY for agents, AGL_UPSTREAM_KEY for the model server, AGL_STORE_KEY for the store.',
    )
    .action(async (flags: GatewayFlags) => {
      const { runGateway } = await import('./run-gateway.ts');
      await runGateway(flags);
    });
}
