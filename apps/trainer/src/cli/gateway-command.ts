import { serveGateway } from '@agentlightning/gateway';
import type { Command } from 'commander';
import { openAnyStore } from '../runtime/open-any-store.ts';
import { wholeNumber } from './number-flag.ts';
import { serverLog } from './server-log.ts';
import { untilStopped } from './until-stopped.ts';

interface GatewayFlags {
  readonly store: string;
  readonly upstream: string;
  readonly model?: string;
  readonly host: string;
  readonly port: number;
}

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
      const log = serverLog('agl-gateway');
      const store = await openAnyStore({ url: flags.store, apiKey: process.env['AGL_STORE_KEY'] ?? null });
      const gateway = await serveGateway({
        store,
        upstream: {
          baseUrl: flags.upstream,
          ...optional('model', flags.model),
          ...optional('apiKey', process.env['AGL_UPSTREAM_KEY']),
        },
        host: flags.host,
        port: flags.port,
        ...optional('apiKey', process.env['AGL_GATEWAY_KEY']),
      });
      log.info({ url: gateway.url, upstream: flags.upstream, model: flags.model ?? null }, 'gateway is up');
      process.stdout.write(`${JSON.stringify({ event: 'ready', url: gateway.url })}\n`);
      await untilStopped(async () => {
        await gateway.close();
        await store.close();
      });
      log.info('gateway has stopped');
    });
}

function optional<TKey extends string>(key: TKey, value: string | undefined): { readonly [key in TKey]?: string } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [key in TKey]?: string });
}
